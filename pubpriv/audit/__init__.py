"""The privacy tests as a product: `pubpriv audit` runs them, and the test suite runs them with smaller numbers.

Every module here tries to break one promise of the installed code, and reports its findings:
`sensitivity` (no two neighbours move a question's integers further than it declares), `files` (every record of a table
counts once, wherever it lies), `lines` (a line of a CSV file moves no other, whatever is in it), `malformed` (a
malformed question is refused before it is charged, and noise is what was announced), `noise_law` (the noise is what was
declared), `prices` (no event is priced below what it costs), `canary` (the best known attack on a mechanism end to end
finds no more than was claimed), `recording` (a driver asks the same questions, and returns the same model, on any two
tables that gave the same answers), `door` (one charge, one answer, never a refund), `tampering` (records that were not
written by the door are not trusted), `books` (books that are carried on remember what was spent, of every period) and
`names` (a table is the same table under every name).
"""

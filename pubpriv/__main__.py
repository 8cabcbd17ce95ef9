"""`python -m pubpriv`: the program."""

from pubpriv.cli.main import main

if __name__ == "__main__":
    main()

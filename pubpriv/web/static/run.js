// Ask what a command does now, say it in the page's status line, and load the page again when it is done.
const doing = document.getElementById("doing");

async function ask() {
  try {
    const answer = await fetch(doing.dataset.progress);
    const seen = await answer.json();
    if (seen.done) {
      location.reload();
      return;
    }
    const text = `step ${seen.steps}: ${seen.doing} …`;
    if (doing.textContent !== text) doing.textContent = text;
  } catch {
    doing.textContent = "this server does not answer any more: is `pubpriv open` still at work?";
  }
  setTimeout(ask, 1000);
}

setTimeout(ask, 500);

// Goes on with batches until all are done or Stop is pressed. Without it the Continue button does the same by hand.
"use strict";

const form = document.getElementById("batches");
const [go, stop, bar, said] = ["go", "stop", "bar", "said"].map((id) => document.getElementById(id));
let stopping = false;

function show(text, running) {
  said.textContent = text;
  stop.hidden = !running;
  go.hidden = running;
}

async function run() {
  stopping = false;
  try {
    for (;;) {
      const told = { done: form.elements.done.value, total: form.elements.total.value };
      if (stopping) return show(`${told.done} of ${told.total} done: stopped`, false);
      show(`${told.done} of ${told.total} done`, true);
      const answer = await fetch(form.action, {
        method: "POST",
        body: new FormData(form),
        headers: { Accept: "application/json" },
      });
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const state = await answer.json();
      form.elements.done.value = bar.value = state.done;
      form.elements.total.value = bar.max = state.total;
      if (state.finished) {
        show(`${state.done} of ${state.total} done: finished`, false);
        go.hidden = true;
        return;
      }
    }
  } catch (error) {
    show(`${form.elements.done.value} of ${form.elements.total.value} done: ${error.message}`, false);
  }
}

if (form && "begun" in form.dataset) {
  stop.addEventListener("click", () => { stopping = true; });
  form.addEventListener("submit", (event) => { event.preventDefault(); run(); });
  run();
}

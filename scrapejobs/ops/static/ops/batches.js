// Goes on with batches until all are done or Stop is pressed. If it fails, the Continue button does one batch.
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
      const told = { done: bar.value, total: bar.max };
      if (stopping) return show(`${told.done} of ${told.total} done: stopped`, false);
      show(`${told.done} of ${told.total} done`, true);
      const answer = await fetch(form.action, {
        method: "POST",
        body: new FormData(form),
        headers: { Accept: "application/json" },
      });
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const state = await answer.json();
      form.elements.total.value = bar.max = state.total;
      bar.value = state.done;
      if (state.finished) {
        show(`${state.done} of ${state.total} done: finished`, false);
        go.hidden = true;
        return;
      }
    }
  } catch (error) {
    show(`${bar.value} of ${bar.max} done: ${error.message}`, false);
  }
}

if (form && "begun" in form.dataset) {
  stop.addEventListener("click", () => { stopping = true; });
  form.addEventListener("submit", (event) => { event.preventDefault(); run(); });
  run();
}

/**
 * Lets one tab at a time use the session, since two would write over each other's store. Another tab offers to take it
 * over; the one that loses it says so and stops.
 */
const LOCK = 'nomos-chat';

/** @returns {Promise<void>} resolves when this tab has the chat to itself */
export function onlyInThisTab() {
  if (navigator.locks === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    take({ ifAvailable: true }, resolve, () =>
      offer(() => take({ steal: true }, resolve, () => {})),
    );
  });
}

function take(options, onTaken, onBusy) {
  const never = new Promise(() => {});
  let taken = false;
  navigator.locks
    .request(LOCK, options, (lock) => {
      if (lock === null) return onBusy();
      taken = true;
      onTaken();
      return never;
    })
    .catch(() => {
      if (taken) offer(() => location.reload());
    });
}

function offer(onChosen) {
  const box = document.createElement('div');
  box.className = 'notice';
  const text = document.createElement('p');
  text.textContent = 'This chat is open in another tab.';
  const button = document.createElement('button');
  button.textContent = 'Use it here';
  button.onclick = () => {
    box.remove();
    onChosen();
  };
  box.append(text, button);
  document.body.replaceChildren(box);
}

// Says when newer data is published, and how many queries run before one that was just asked for. Without it, pages work the same.
(() => {
  const status = document.querySelector('#site-status');
  const published = document.body.dataset.published;
  const read = async () => {
    try {
      const response = await fetch('/state.json');
      return response.ok ? await response.json() : undefined;
    } catch {
      return undefined; // the server ended: the next page says so
    }
  };
  const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;

  let isAsking = false;
  const showNews = async () => {
    if (isAsking || document.hidden) return;
    const state = await read();
    if (isAsking || !state || state.publishedAt === published) return;
    const link = document.createElement('a');
    link.href = location.href;
    link.textContent = 'Reload the page';
    status.replaceChildren(`Newer data was published at ${state.publishedAt.slice(0, 16).replace('T', ' ')}. `, link);
  };
  setInterval(showNews, 60_000);
  addEventListener('focus', showNews);
  document.addEventListener('visibilitychange', showNews);

  const showQueue = async () => {
    if (!isAsking) return;
    const state = await read();
    if (!isAsking || !state) return;
    const { running, waiting } = state;
    status.textContent =
      waiting > 0
        ? `The query waits: ${plural(running, 'query runs', 'queries run')} and ${plural(waiting, 'waits', 'wait')}.`
        : 'The query runs.';
    setTimeout(showQueue, 2_000);
  };
  const ask = (asks, text) => {
    isAsking = asks;
    document.body.classList.toggle('is-asking', asks);
    status.textContent = text;
  };
  addEventListener('submit', () => {
    ask(true, 'The query runs.');
    setTimeout(showQueue, 1_000);
  });
  addEventListener('pageshow', () => {
    if (isAsking) ask(false, ''); // back from the result
  });
  addEventListener('click', ({ target }) => {
    if (!target.closest('.cancel')) return;
    stop(); // the browser closes the connection, and the server ends the query
    ask(false, 'The query was cancelled.');
  });

  document.addEventListener('click', async ({ target }) => {
    const button = target.closest('button[data-copy]');
    if (!button) return;
    const address = new URL(button.dataset.copy, location.href).href;
    try {
      await navigator.clipboard.writeText(address);
      status.textContent = 'The link is copied.';
    } catch {
      status.textContent = address; // no clipboard on a page without TLS
    }
  });
})();

// A page that is read later says how old it is. Without this script, its sentence about the time is still true.
(() => {
  const units = [[48, 24, 'days'], [2, 1, 'hours']];
  const describe = (ms) => {
    const hours = ms / 3_600_000;
    const [, size, name] = units.find(([least]) => hours >= least) ?? [];
    return size ? `${Math.floor(hours / size)} ${name}` : `${Math.max(0, Math.floor(hours * 60))} minutes`;
  };
  for (const time of document.querySelectorAll('time[data-age]')) {
    time.append(`, ${describe(Date.now() - Date.parse(time.dateTime))} old`);
  }
  const line = document.querySelector('.as-of[data-until]');
  if (!line || Date.now() <= Date.parse(line.dataset.until)) return;
  const asOf = Date.parse(line.querySelector('time').dateTime);
  document.body.classList.add('is-aged');
  line.querySelector('.aged').textContent = `This page is ${describe(Date.now() - asOf)} old: what it says may have changed.`;
  for (const tag of document.querySelectorAll('.tag[data-value="fresh"]')) {
    tag.textContent = 'was fresh';
    tag.dataset.value = 'stale';
  }
})();

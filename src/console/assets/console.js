'use strict';
// What pages do beyond HTML: times in the viewer's zone, keys, copying, charts, live parts. Pages work without it, but for charts.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const two = (n) => String(n).padStart(2, '0');
  const dayOf = (at) => at.getFullYear() + '-' + two(at.getMonth() + 1) + '-' + two(at.getDate());
  const local = (at) => dayOf(at) + ' ' + two(at.getHours()) + ':' + two(at.getMinutes());

  // Times are in UTC without this script, and where a page says so.
  const showTimes = (root) => {
    for (const element of all('time[datetime]:not([data-utc])', root)) {
      const at = new Date(element.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      element.textContent = local(at);
    }
    // A day of the viewer's zone; its address has the moment.
    for (const input of all('input[type=date][data-moment]', root)) {
      const at = new Date(input.dataset.moment);
      if (!Number.isNaN(at.getTime())) input.value = dayOf(at);
    }
    for (const input of all('input[type=datetime-local][data-moment]', root)) {
      const at = new Date(input.dataset.moment);
      if (!Number.isNaN(at.getTime())) input.value = local(at).replace(' ', 'T');
    }
  };
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  for (const zone of all('[data-zone]'))
    zone.textContent = 'Times shown in ' + timeZone + '; hover for UTC.';

  // A day that is typed into a filter is sent as the moment at which it begins or ends.
  document.addEventListener('formdata', ({ formData, target }) => {
    for (const input of all('input[type=date][data-day]', target)) {
      if (input.value === '') continue;
      const [year, month, day] = input.value.split('-').map(Number);
      const isEnd = input.dataset.day === 'end';
      const at = new Date(year, month - 1, day + (isEnd ? 1 : 0));
      formData.set(input.name, new Date(at.getTime() - (isEnd ? 1 : 0)).toISOString());
    }
    for (const input of all('input[type=datetime-local][data-day]', target))
      if (input.value !== '') formData.set(input.name, new Date(input.value).toISOString());
    for (const [name, value] of [...formData])
      if (target.matches('[data-filters]') && value === '') formData.delete(name);
  });

  // A reload, and forms of this page, do not say again what was done.
  const here = new URL(location.href);
  if (here.searchParams.has('done')) {
    here.searchParams.delete('done');
    history.replaceState(null, '', here);
  }

  const side = document.getElementById('menu');
  document.querySelector('.menu')?.addEventListener('click', (event) => {
    event.preventDefault();
    side.classList.toggle('isOpen');
  });
  document.addEventListener('click', (event) => {
    for (const drop of all('details.drop[open]'))
      if (!drop.contains(event.target)) drop.open = false;
    const copy = event.target.closest?.('[data-copy]');
    if (!copy) return;
    void navigator.clipboard?.writeText(copy.dataset.copy);
    copy.title = 'Copied';
  });
  // A confirmation is brought into view and closed with Escape; its button is read out as open.
  document.addEventListener(
    'toggle',
    ({ target }) => {
      if (!target.matches?.('details.sure')) return;
      target.querySelector('summary').setAttribute('aria-expanded', String(target.open));
      if (target.open) target.querySelector('div').scrollIntoView({ block: 'nearest', inline: 'nearest' });
    },
    true,
  );
  document.addEventListener('keydown', ({ key, target }) => {
    const sure = key === 'Escape' && target.closest?.('details.sure[open]');
    if (!sure) return;
    sure.open = false;
    sure.querySelector('summary').focus();
  });
  for (const box of all('input[data-all]'))
    box.addEventListener('change', () => {
      for (const one of all('input[type=checkbox][name="' + box.dataset.all + '"]', box.form))
        one.checked = box.checked;
    });
  for (const button of all('button[data-print]'))
    button.addEventListener('click', () => window.print());

  const runs = (root) => {
    for (const run of all('[data-run]', root)) void follow(run);
  };
  const follow = async (run) => {
    const figure = run.querySelector('[data-figure=progress]');
    const pace = run.querySelector('[data-pace]');
    const bar = run.querySelector('progress');
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      const answer = await fetch(run.dataset.run).catch(() => undefined);
      if (answer === undefined || answer.status === 503) continue;
      if (!answer.ok || answer.redirected) return location.reload();
      const { state, text, pace: rate, done, total } = await answer.json();
      if (state !== 'running') return location.reload();
      figure.textContent = text;
      figure.dataset.value = text;
      pace.textContent = rate;
      if (total) {
        bar.max = total;
        bar.value = done;
      }
    }
  };

  // Bars, lines and areas of uPlot, from the table next to each.
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const LINES = ['#3b82c4', '#d9822b', '#3f9b5b', '#8a63b8', '#c2434f', '#5a6b7b'];
  const draw = (box) => {
    const { days, lines } = JSON.parse(box.dataset.chart);
    const shown = (value) =>
      value === null || value === undefined ? '–' : value.toLocaleString('en-US');
    const axis = {
      stroke: css('--soft'),
      grid: { stroke: css('--line'), width: 1 },
      ticks: { stroke: css('--line') },
    };
    const size = () => ({ width: box.clientWidth, height: box.clientHeight - 24 });
    const plot = new uPlot(
      {
        ...size(),
        cursor: { y: false },
        scales: {
          y: { range: (_plot, low, high) => [Math.min(0, low), Math.max(1, high) * 1.05] },
        },
        axes: [
          axis,
          {
            ...axis,
            size: 76,
            label: box.dataset.unit,
            values: (_plot, ticks) => ticks.map(shown),
          },
        ],
        series: [
          {
            label: 'Day',
            value: (_plot, at) =>
              at === null ? '–' : new Date(at * 1000).toISOString().slice(0, 10),
          },
          ...lines.map(({ label, isStep }, index) => ({
            label,
            stroke: LINES[index % LINES.length],
            width: 2,
            points: { show: false },
            value: (_plot, value) => shown(value),
            ...(isStep
              ? {
                  paths: uPlot.paths.stepped({ align: 1 }),
                  fill: LINES[index % LINES.length] + '22',
                }
              : {}),
          })),
        ],
      },
      [days.map((day) => Date.parse(day) / 1000), ...lines.map(({ values }) => values)],
      box,
    );
    new ResizeObserver(() => plot.setSize(size())).observe(box);
  };

  const ready = (root) => {
    showTimes(root);
    runs(root);
    if (window.uPlot) all('[data-chart]', root).forEach(draw);
  };
  document.addEventListener('htmx:load', ({ detail }) => {
    if (detail.elt !== document.body) ready(detail.elt);
  });
  document.addEventListener('htmx:beforeSwap', (event) => {
    // Reading by keyboard and marking a text are not interrupted by what is fetched anew.
    const { target, requestConfig } = event.detail;
    if (!requestConfig.elt.matches('[hx-trigger^=every]')) return;
    if (target.contains(document.activeElement) || !getSelection().isCollapsed)
      event.detail.shouldSwap = false;
  });
  ready(document);

  // The letter after g of each page that the navigation offers.
  const places = () => all('.side a[data-key]');
  const help = () => {
    const dialog = document.createElement('dialog');
    const table = document.createElement('table');
    const names = [
      ['/', 'Search'],
      ...places().map((link) => ['g ' + link.dataset.key, link.textContent.trim()]),
      ['?', 'These keys'],
    ];
    for (const [keys, name] of names) {
      const row = table.insertRow();
      row.insertCell().append(Object.assign(document.createElement('kbd'), { textContent: keys }));
      row.insertCell().textContent = name;
    }
    dialog.setAttribute('aria-label', 'Keys');
    dialog.append(table);
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  };
  let isGoing = false;
  document.addEventListener('keydown', (event) => {
    if (
      event.target.closest?.('input, textarea, select') ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey
    )
      return;
    const { key } = event;
    if (isGoing) {
      isGoing = false;
      const place = places().find((link) => link.dataset.key === key);
      if (place) location.href = place.href;
    } else if (key === 'g') isGoing = true;
    else if (key === '?') help();
    else if (key === '/') {
      const search = document.querySelector('input[type=search]');
      if (search) event.preventDefault();
      search?.focus();
    }
  });

  for (const form of document.querySelectorAll('form[data-preview]')) {
    const button = form.querySelector('button[formtarget]');
    let waiting = 0;
    const preview = () => {
      // A new frame: the one before would leave an entry in the browser's history.
      const frame = document.querySelector('iframe[name="' + button.formTarget + '"]');
      frame.replaceWith(frame.cloneNode());
      form.requestSubmit(button);
    };
    form.addEventListener('input', () => {
      clearTimeout(waiting);
      waiting = setTimeout(preview, 600);
    });
    preview();
  }

  document.addEventListener('submit', ({ target, submitter }) => {
    if (target.method !== 'post' || submitter?.formTarget) return;
    for (const button of all('button', target))
      setTimeout(() => {
        button.disabled = true;
      });
  });
  // Back shows the page as it was left: its buttons work again.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) for (const button of all('form[method=post] button')) button.disabled = false;
  });
})();

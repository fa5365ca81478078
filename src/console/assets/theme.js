'use strict';
// Before the first paint: the colours that the viewer's system has.
(() => {
  const isDark = matchMedia('(prefers-color-scheme: dark)');
  const show = () => {
    document.documentElement.dataset.bsTheme = isDark.matches ? 'dark' : 'light';
  };
  show();
  isDark.addEventListener('change', show);
})();

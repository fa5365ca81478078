/** The console's one style sheet: light and dark, from 390 pixels on, and for print. */
export const CONSOLE_STYLE = `
:root { color-scheme: light dark;
  --paper: #fff; --ground: #f6f7f9; --ink: #1c2128; --soft: #57606a; --line: #d3d9e0;
  --link: #0b57a4; --button: #0b57a4; --on-button: #fff; --bad: #a40e26; --bad-ground: #fdecee;
  --good: #1a6b34; --good-ground: #e8f5ec; --mark: #fff3c4; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #16191d; --ground: #1d2126; --ink: #e6e9ee; --soft: #a5aeb9; --line: #363d46;
  --link: #7ab7ff; --button: #7ab7ff; --on-button: #0b1117; --bad: #ff9aa5; --bad-ground: #3a1d22;
  --good: #7fd69a; --good-ground: #183022; --mark: #4a3f14; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 3rem; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 0.9375rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
a { color: var(--link); }
a:focus-visible, button:focus-visible, input:focus-visible, select:focus-visible,
textarea:focus-visible, summary:focus-visible, [tabindex]:focus-visible {
  outline: 2px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 0.5rem; top: 0.5rem; background: var(--paper); padding: 0.5rem; z-index: 2; }
header, nav.tenant { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 1rem;
  padding: 0.5rem 1rem; border-bottom: 1px solid var(--line); }
header { background: var(--ground); }
header nav { display: flex; gap: 1rem; flex: 1; }
header form { margin: 0; }
.home { font-weight: 700; text-decoration: none; color: inherit; }
nav a { text-decoration: none; padding: 0.125rem 0; }
nav a[aria-current] { font-weight: 600; color: inherit; border-bottom: 2px solid var(--link); }
.who, .roles, .note, .unit, .zone { color: var(--soft); }
.place { margin-right: 0.5rem; }
.place > a:first-child { font-weight: 600; color: inherit; }
.mode { padding: 0 0.5em; border: 1px solid var(--line); border-radius: 1em; font-size: 0.8125rem; }
.mode.test { background: var(--mark); }
.switch { font-size: 0.8125rem; }
main { max-width: 90rem; margin: 0 auto; padding: 1rem 1rem 3rem; }
h1 { font-size: 1.375rem; line-height: 1.3; margin: 0.25rem 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.0625rem; margin: 1.75rem 0 0.5rem; }
p { max-width: 70ch; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: start; font-weight: 600; padding: 0.25rem 0; }
th, td { text-align: start; padding: 0.3125rem 0.75rem 0.3125rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line); }
thead th { position: sticky; top: 0; background: var(--paper); color: var(--soft);
  font-weight: 600; white-space: nowrap; }
thead th a { color: inherit; text-decoration: none; }
thead th a:hover { text-decoration: underline; }
th[aria-sort=ascending] a::after { content: ' ↑' / ''; }
th[aria-sort=descending] a::after { content: ' ↓' / ''; }
th.number, td.number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
td time { white-space: nowrap; font-variant-numeric: tabular-nums; }
tfoot td, tr.sum td { font-weight: 600; }
.id { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 0.8125rem;
  overflow-wrap: anywhere; }
td.id { min-width: 9rem; }
td.text { min-width: 16rem; }
td.month { white-space: nowrap; }
.empty { color: var(--soft); padding: 1rem 0; }
form.fields { display: grid; gap: 0.75rem 1rem; align-items: start; margin: 0 0 1rem;
  grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); max-width: 70rem; }
form.fields.narrow { grid-template-columns: minmax(0, 24rem); }
/* Beside fields: as high as their controls, below the line of the labels. */
@media (min-width: 48rem) { form.fields:not(.narrow) > .field + button { margin-top: 1.4375rem; } }
.field { min-width: 0; display: grid; gap: 0.125rem; }
.field.wide { grid-column: 1 / -1; max-width: 40rem; }
label { font-weight: 600; font-size: 0.875rem; }
.hint, .wrong { font-size: 0.8125rem; color: var(--soft); }
.wrong { color: var(--bad); font-weight: 600; }
input, select, textarea { font: inherit; color: inherit; background: var(--paper); width: 100%;
  padding: 0.375rem 0.5rem; border: 1px solid var(--soft); border-radius: 0.25rem; }
input[type=checkbox] { width: auto; }
.beside { display: grid; gap: 1rem 2rem; grid-template-columns: minmax(0, 1fr); }
.beside fieldset { margin-bottom: 1.25rem; }
details.assistant { margin: 1rem 0; }
summary { cursor: pointer; font-weight: 600; }
@media (min-width: 64rem) { .beside { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); } }
.preview { width: 100%; height: 32rem; border: 1px solid var(--line); border-radius: 0.25rem;
  background: var(--paper); }
@media (min-width: 64rem) { .beside.even { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); } }
.beside > .field { align-content: start; }
select.short { width: auto; }
.tick { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0 0.5rem;
  align-items: baseline; overflow-wrap: anywhere; }
.tick .hint { grid-column: 2; }
.tick, .broad > .field { align-content: start; }
.fields { display: grid; gap: 0.75rem 1rem; max-width: 70rem; margin: 0 0 1rem;
  grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); }
fieldset { border: 0; padding: 0; margin: 0; min-width: 0; }
legend { font-weight: 600; padding: 0; margin-bottom: 0.25rem; }
.fields.broad { grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)); }
.fields > fieldset { grid-column: 1 / -1; }
.secret { overflow-wrap: anywhere; user-select: all; font-size: 1rem; }
[aria-invalid=true] { border-color: var(--bad); }
button { font: inherit; font-weight: 600; padding: 0.375rem 1rem; border-radius: 0.25rem;
  border: 1px solid var(--button); background: var(--button); color: var(--on-button);
  cursor: pointer; justify-self: start; }
button.quiet { background: none; color: var(--link); border-color: var(--line); }
button.danger { background: var(--bad); border-color: var(--bad); color: var(--paper); }
.actions { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; }
td > form.actions { min-width: 27rem; }
td > form + form { margin-top: 0.375rem; }
td > form.actions > input { width: 14rem; }
.scroll + form { margin-top: 1rem; }
.problem, .done { padding: 0.5rem 0.75rem; border-left: 3px solid; max-width: 70rem;
  margin: 0 0 1rem; }
.problem { background: var(--bad-ground); border-color: var(--bad); color: var(--bad); }
.done { background: var(--good-ground); border-color: var(--good); color: var(--good); }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr));
  gap: 0.75rem; margin: 0 0 1rem; padding: 0; }
.figures > div { border: 1px solid var(--line); border-radius: 0.375rem; padding: 0.5rem 0.75rem; }
.figures dt { color: var(--soft); font-size: 0.8125rem; }
.figures dd { margin: 0; font-size: 1.125rem; font-weight: 600; overflow-wrap: anywhere;
  font-variant-numeric: tabular-nums; }
.figures dd.id { font-size: 0.8125rem; font-weight: 400; }
progress { width: 100%; max-width: 30rem; }
footer { max-width: 90rem; margin: 0 auto; padding: 0 1rem 2rem; font-size: 0.8125rem; }
pre { max-width: 100%; overflow-x: auto; }
details pre { background: var(--ground); padding: 0.75rem;
  font-size: 0.8125rem; }
ol.history { list-style: none; padding: 0; margin: 0; }
ol.history > li { padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
.spark { display: block; width: 10rem; height: 1.5rem; fill: none; stroke: var(--link); }
.plot { display: block; width: 100%; height: 11rem; }
figure { margin: 0; }
figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; font-size: 0.8125rem; }
dialog { border: 1px solid var(--line); border-radius: 0.5rem; background: var(--paper);
  color: inherit; max-width: 30rem; }
@media (max-width: 40rem) { .figures { grid-template-columns: 1fr 1fr; } }
@media print { header, nav, form, .skip, .actions { display: none !important; }
  body { font-size: 9pt; } main { max-width: none; padding: 0; } .scroll { overflow: visible; }
  th, td { padding-right: 0.375rem; } td.id { min-width: 0; font-size: 7pt; } td time { white-space: normal; }
  thead th { position: static; } }
`;

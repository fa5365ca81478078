import { knownTemplate } from '../../src/templates/known-template.js';
import {
  renderImageAddress,
  renderMarkdown,
  renderRich,
  renderText,
} from '../../src/templates/render-template.js';
import { templateFaults as faultsOf } from '../../src/templates/template-faults.js';
import {
  HARMLESSLY_RENDERED,
  HOSTILE_VALUES,
  NOTHING,
  REFUSED,
  VARIABLES,
} from './hostile-templates.js';
import { leastCpuMs, SLOWEST } from './slow-templates.js';
import { shapeOf, tagFaults, textOf } from './rendered-html.js';

const ANN = {
  'user.firstName': 'Ann',
  'user.lastName': 'Lee',
  'friend.name': 'Bob',
  'reward.text': '10 USD',
  code: 'ANNLEE',
  shareLink: 'https://share.example/acme/ANNLEE',
};
/** A text whose every value is written by a person. */
const everywhere = (value: string) => ({
  ...ANN,
  'user.firstName': value,
  'user.lastName': value,
  'friend.name': value,
});

it.each(Object.entries(REFUSED))(
  'a template is refused for %s, with a clear line',
  (_, templates) => {
    for (const template of templates) {
      const shown = template.slice(0, 60);
      const faults = faultsOf(template);
      expect([shown, faults.length > 0]).toEqual([shown, true]);

      for (const fault of faults) expect(fault).toMatch(/^[^\u0000-\u001f]{5,250}$/);
    }
  },
);

it('a template is accepted with variables, conditions, groups, comments and markdown', () => {
  expect(
    faultsOf(
      '# Hello {{user.firstName}}\n\n{{#if friend.name}}**{{friend.name}}** joined{{else}}Soon' +
        '{{/if}}{{! note }}\n\n{{#unless code}}x{{/unless}}\n- [Share]({{shareLink}})\n' +
        '{{#each user}}{{@key}}: {{this}}{{#unless @last}}, {{/unless}}{{/each}}\n\n---\n\n1. {{reward.text}}',
    ),
  ).toEqual([]);
  for (const template of HARMLESSLY_RENDERED)
    expect([template, faultsOf(template)]).toEqual([template, []]);
});

it('a template names each fault and its line', () => {
  expect(faultsOf('{{code}}\n{{a.prototype}}\n\n{{> part}}{{* code}}')).toEqual([
    'not allowed in a path: a.prototype (line 2)',
    'partials (`{{>`) are not allowed (line 4)',
    'decorators (`{{*`) are not allowed (line 4)',
  ]);
});

it.each(NOTHING)(
  'a template %s is accepted, renders as nothing and names what is unknown',
  (text, names) => {
    expect(faultsOf(text)).toEqual([]);
    expect(renderText(text, { ...ANN, 'user.lastName': null })).toMatch(/^a ?z$/);
    expect(renderMarkdown(text, ANN)).toMatch(/^<p>a ?z<\/p>\n$/);
    expect(knownTemplate(text, VARIABLES).unknown.join(' ')).toBe(names);
  },
);

it('a template renders what is after `else` where a condition or a group has no value', () => {
  const rendered = (text: string) => renderText(text, { ...ANN, 'friend.name': '' });
  expect(rendered('{{#if secret}}a{{else}}b{{/if}}')).toBe('b');
  expect(rendered('{{#unless (eq 1 1)}}a{{else}}b{{/unless}}')).toBe('a');
  expect(rendered('{{#each list}}a{{else}}{{code}}{{/each}}')).toBe('ANNLEE');
  expect(rendered('{{#if friend}}a{{else if user}}{{user.firstName}}{{/if}}')).toBe('Ann');
  expect(rendered('{{#if code includeZero=true}}a{{/if}}{{#if true}}b{{/if}}')).toBe('ab');
  expect(rendered('{{#math 1}}a{{else}}b{{/math}}c')).toBe('c');
  expect(rendered('{{&code}}{{~& code ~}}')).toBe('ANNLEEANNLEE');
});

it('a template of an address makes one of an image, or none', () => {
  const address = (template: string) => renderImageAddress(template, everywhere('a/b "c'));
  expect(address("{{assets 'x.png'}}")).toBe('');
  expect(address('https://cdn.example/{{code}}.png')).toBe('https://cdn.example/ANNLEE.png');
  expect(address('https://cdn.example/{{user.firstName}}')).toBe(
    'https://cdn.example/a%2Fb%20%22c',
  );
  expect(address('{{shareLink}}/qr')).toBe('https://share.example/acme/ANNLEE/qr');
  for (const none of ['{{code}}', '//cdn.example/{{code}}', 'javascript:{{code}}', 'x', ''])
    expect([none, address(none)]).toEqual([none, '']);
  for (const none of ['mailto:{{code}}@a.example', 'https://{{code}}:a@b.example/', 'data:,a'])
    expect([none, address(none)]).toEqual([none, '']);
});

it('a template of the tenant becomes HTML with nothing in it that acts or loads a style', () => {
  for (const template of HARMLESSLY_RENDERED) {
    for (const values of [ANN, everywhere('javascript:alert(1)'), everywhere('"><script>')]) {
      const html = renderMarkdown(template, values);
      expect([template, html, tagFaults(html)]).toEqual([template, html, []]);
    }
  }
});

it('a template is rendered with its values, groups, links and marks', () => {
  expect(
    renderMarkdown(
      '**{{user.firstName}}** _x_ `{{code}}` [Go]({{shareLink}}) [q](https://s.example/?c={{reward.text}})\n\n' +
        '{{#each user}}{{@key}}={{this}};{{/each}}',
      { ...ANN, 'reward.text': 'a b&c' },
    ),
  ).toBe(
    '<p><strong>Ann</strong> <em>x</em> <code>ANNLEE</code> ' +
      '<a href="https://share.example/acme/ANNLEE">Go</a> <a href="https://s.example/?c=a%20b%26c">q</a></p>\n' +
      '<p>firstName=Ann;lastName=Lee;</p>\n',
  );
  expect(renderText('{{#if friend.name}}a{{else}}b{{/if}}{{code}}', { code: 'C' })).toBe('bC');
  expect(renderRich('Hi *{{code}}*\n\nbye', { code: 'a\nb' })).toEqual({
    html: '<p>Hi <em>a b</em></p>\n<p>bye</p>\n',
    text: 'Hi a b\n\nbye',
  });
});

it('a template makes no table: a line of one letter would be a row of many cells', () => {
  const table = `${'|a'.repeat(30)}\n${'|-'.repeat(30)}\n${'a\n'.repeat(200)}`;
  expect(faultsOf(table)).toEqual([]);
  expect(renderMarkdown(table, ANN)).toContain('|-|-');
  for (const template of [table, '<table><tr><td>a</td></tr></table>'])
    expect(renderMarkdown(template, ANN)).not.toMatch(/<t[a-z]/);
});

it('a template becomes few elements, counted before it is rendered', () => {
  const accepted = INTRICATE.map((piece) => {
    const texts = Array.from({ length: 40 }, (_, at) => piece.repeat(25 * at + 25));
    const text = texts.findLast((one) => faultsOf(one).length === 0)!;
    return { piece, elements: renderMarkdown(text, ANN).match(/<[a-z]/g)?.length ?? 0 };
  });
  expect(accepted.filter(({ elements }) => elements > 400)).toEqual([]);
  expect(accepted.filter(({ elements }) => elements > 100).length).toBeGreaterThan(5);
  const each = (text: string) => `{{#each user}}\n${text}\n{{/each}}`;
  const most = `* a\n\n- * - x * y\n\n${'*'.repeat(80)}\n\n${'**a** '.repeat(25)}`;
  expect(faultsOf(most)).toEqual([]);
  for (const emphasis of [`${most}*a`, '_a*'.repeat(51), '~~a'.repeat(51), each('*a* '.repeat(26))])
    expect(faultsOf(emphasis)).toEqual(['has more than 100 marks of emphasis (*, _ or ~)']);
  expect(faultsOf('`a` '.repeat(200))).toEqual([]);
  expect(faultsOf(`${'x'.repeat(998)}@ `.repeat(2))).toEqual(['has too many long words with @']);
  expect(faultsOf(each('`a` '.repeat(200)))).toContain('has more than 500 marks of markdown');
  expect(faultsOf('- a\n'.repeat(151))).toContain('has more than 150 marks of lists and quotes');
  expect(faultsOf('a\n\n'.repeat(90) + '- a\n'.repeat(110))).toEqual([
    'becomes more than 400 elements',
  ]);
});

it('a template that was stored under other rules is not rendered', () => {
  expect(() => renderText('{{> code}}', ANN)).toThrow('partials');
  expect(() => renderMarkdown('{{{code}}}', ANN)).toThrow('not allowed');
});

const PLACES = [
  '{{user.firstName}}',
  'Hello {{user.firstName}}, *{{friend.name}}* and **{{user.lastName}}**',
  '# {{user.firstName}}\n\n- {{friend.name}}\n\n> {{user.lastName}}',
  '`{{user.firstName}}` ~~{{friend.name}}~~',
  '    {{user.firstName}}\n\n```\n{{friend.name}}\n```',
  '| {{user.firstName}} | b |\n|---|---|\n| {{friend.name}} | c |',
  '[{{user.firstName}}](https://ok.example/?n={{friend.name}})',
  '<b>{{user.firstName}}</b> <a href="https://ok.example/{{friend.name}}">x</a>',
  '{{#each user}}{{this}} {{/each}}',
];

it('a value of a person is text in HTML: it adds no tag, no attribute, no markdown and no link', () => {
  for (const place of PLACES) {
    const harmless = shapeOf(renderMarkdown(place, everywhere('Ann')));
    for (const value of HOSTILE_VALUES.filter((each) => each.trim() !== '')) {
      const html = renderMarkdown(place, everywhere(value));
      const case_ = [place, value.slice(0, 80)];
      expect([case_, tagFaults(html)]).toEqual([case_, []]);
      expect([case_, shapeOf(html)]).toEqual([case_, harmless]);
    }
  }
});

it('a value of a person is shown as it is spelled', () => {
  for (const value of ['{{7*7}}', '<script>', '*x*', '[x](javascript:y)', '&amp;', 'value0z']) {
    expect(textOf(renderMarkdown('{{user.firstName}}!', everywhere(value)))).toBe(`${value}!\n`);
    expect(renderText('{{user.firstName}}!', everywhere(value))).toBe(`${value}!`);
  }
});

it('a value of a person breaks no line of a subject, and no header', () => {
  for (const value of HOSTILE_VALUES) {
    const subject = renderText('Hello {{user.firstName}} of {{friend.name}}', everywhere(value));

    expect(subject).toMatch(/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]{5,255}$/);
    expect(subject).toBe(Buffer.from(subject).toString());
    expect(
      renderRich('{{user.firstName}}\nx', everywhere(value)).text.split('\n').length,
    ).toBeLessThanOrEqual(2);
  }
});

it('a value of a person is no link, unless it is the share link and leads to the web', () => {
  const link = (shareLink: string): string => renderMarkdown('[Go]({{shareLink}})', { shareLink });
  expect(link('https://ok.example/a"b')).toBe('<p><a href="https://ok.example/a%22b">Go</a></p>\n');
  for (const bad of [
    'javascript:alert(1)',
    'data:text/html,x',
    '//evil',
    'x',
    'https://a'.repeat(999),
  ]) {
    expect(tagFaults(link(bad))).toEqual([]);
    expect(link(bad)).not.toContain('href');
  }
  expect(renderMarkdown('[Go]({{user.firstName}})', everywhere('https://evil.example'))).toBe(
    '<p><a>Go</a></p>\n',
  );
});

/** Pieces that become many elements when they are repeated. */
const INTRICATE: readonly string[] = [
  '- - - - - - a\n',
  '> > > > > > a\n\n',
  '- *a*\n\n',
  '# a\n',
  'a\n\n',
  'a  \n',
  'a\\\n',
  '---\n\n',
  '*a* ',
  '`a` ',
  'a@b.co ',
  'www.a.co ',
  'http://a.co ',
  '<br>',
  '[a](b) ',
];

it('the slowest texts that are accepted cost little compared with a fixed piece of work, and stay small', () => {
  const long = everywhere('<'.repeat(10_000));
  const slowest = SLOWEST.map((text) => {
    expect([text.slice(0, 20), faultsOf(text)]).toEqual([text.slice(0, 20), []]);
    expect(renderMarkdown(text, long).length).toBeLessThan(400_000);
    return { text: text.slice(0, 20), ms: leastCpuMs(() => renderMarkdown(text, long)) };
  })
    .sort((a, b) => b.ms - a.ms)
    .slice(0, 8);
  const unit = leastCpuMs(fixedWork);
  expect(slowest[0]!.ms / unit).toBeLessThan(100);
});

/** About one millisecond on the machine of the builds. */
function fixedWork(): void {
  let text = '';
  for (let at = 0; at < 20_000; at += 1) text = (text + String(at)).slice(-50);
}

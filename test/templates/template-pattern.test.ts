import fc from 'fast-check';
import { faultsInAnyVariables, templateFaults } from '../../src/templates/template-faults.js';
import { templatePattern } from '../../src/templates/template-pattern.js';
import { HARMLESSLY_RENDERED, REFUSED, VARIABLES } from './hostile-templates.js';

const known = new RegExp(templatePattern({ variables: VARIABLES }), 'u');
const line = new RegExp(templatePattern({ variables: VARIABLES, oneLine: true }), 'u');
const any = new RegExp(templatePattern({}), 'u');

/** What no regular expression can say: what a tag stands in, and how much there is. */
const BEYOND = [
  '{{../code}}',
  '{{../../code}}',
  '{{@index}}',
  '{{this}}',
  '{{.}}',
  '{{#each user}}{{code}}{{/each}}',
  '{{#each user}}{{../../code}}{{/each}}',
  '{{#each user}}{{#each user}}x{{/each}}{{/each}}',
  '{{#if code}}x',
  'x{{/if}}',
  '{{#if code}}x{{/unless}}',
  '{{#if code}}{{#unless code}}{{/if}}{{/unless}}',
  '{{else}}',
  '{{#if code}}{{else}}{{else}}{{/if}}',
];

test('the pattern refuses what a regular expression can say of a template', () => {
  const { 'endless or deep': large = [], ...others } = REFUSED;
  const taken = Object.values(others).flatMap((templates) =>
    templates.filter((template) => !template.includes('{{{') && known.test(template)),
  );
  expect(taken.sort()).toEqual(BEYOND.filter((template) => !large.includes(template)).sort());
  for (const template of ['{{helper code}}', '{{&x}}', '{{> x}}', '{{x.constructor}}', '{{"x"}}'])
    expect([template, any.test(template)]).toEqual([template, false]);
  for (const template of ['{{7}}', '{{true}}', '{{#x}}', '{{#with x}}', '{{x', '{{}}', '{{x=y}}'])
    expect([template, any.test(template)]).toEqual([template, false]);
  for (const template of ['a\nb', '{{! a\nb }}', 'a\u2028b'])
    expect([known.test(template), line.test(template)]).toEqual([true, false]);
});

test('the pattern takes every template that is without fault', () => {
  for (const template of HARMLESSLY_RENDERED)
    expect([template, known.test(template)]).toEqual([template, true]);
  const name = fc.constantFrom(
    ...VARIABLES,
    ...['this', '.', '../code', '@key', '@root.code', './code', 'this.code', 'user/firstName'],
    ...[
      'user.[lastName]',
      '[code]',
      '@root.user.firstName',
      '../user.firstName',
      'other',
      'a-b.c:d',
    ],
  );
  const blank = fc.constantFrom('', '', ' ', '\n', '\t ');
  const piece = fc.oneof(
    fc.constantFrom('a', ' ', '\n', '{', '}', '}}', '\\', '\\\\', '~', '-', '"'),
    fc.constantFrom('{{/if}}', '{{/unless}}', '{{/each}}', '{{~else~}}', '{{^}}', '{{ else }}'),
    fc.constantFrom('{{! a }}', '{{!-- }} --}}', '{{~!-- - --~}}', '{{!--}}', '{{!}}', '{{!---}}'),
    fc.constantFrom('{{#each user}}', '{{#each friend }}', '{{else each user}}', '\\{{a}}'),
    fc
      .tuple(
        fc.constantFrom('#if ', '#unless ', '^if ', 'else if ', '', '', ''),
        name,
        blank,
        blank,
      )
      .map(([block, path, before, after]) => `{{~${block}${before}${path}${after}~}}`),
    fc
      .tuple(name, fc.string({ maxLength: 5 }))
      .map(([path, text]) => `{{#if ${path}}}${text}{{else}}x{{/if}}`),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
      const template = pieces.join('');
      if (templateFaults(template, VARIABLES).length === 0)
        expect([template, known.test(template)]).toEqual([template, true]);
      if (faultsInAnyVariables(template).length === 0)
        expect([template, any.test(template)]).toEqual([template, true]);
    }),
    { numRuns: 500 },
  );
});

test('the pattern is linear: a text that fails at its end is judged at once', () => {
  for (const part of ['{{!}}', '{{else ', '\\{{a}}', '{{../', '{', '\\', '{{code}}', '{{! - ', ' '])
    for (const start of ['', '{{', '{{^', '{{else', '{{!--', '{{#if ', '{{../']) {
      const text = `${start}${part.repeat(20_000 / part.length)}{{&x}}\u0000`;
      expect([known, any, line].map((pattern) => pattern.test(text))).toEqual([
        false,
        false,
        false,
      ]);
    }
});

#!/usr/bin/env node
// Counts how much a reader opens: the path of a redemption that it runs, the write loop, files a
// change touches, sizes. Fails beyond the limits.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { buildOrExit } from './build-if-stale.mjs';
import { inversionsIn, measureRedemption } from './measured-redemption.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

const REDEEM_MAX = { files: 7, hops: 9, inversions: 1 };
const LOOP = ['src/command-handling/handle-command.ts', 'CommandHandling', 'handle'];
const LOOP_LINES_MAX = 60;
/** Files that a change touches, by its list in CONTRIBUTING. */
const TOUCHED_MAX = {
  'Add a command of an account': 5,
  'Add an event type': 8,
  'Add a member to an answer': 4,
};

const AREAS = ['src', 'projections', 'test'];

const parse = (path) =>
  ts.createSourceFile(path, readFileSync(join(root, path), 'utf8'), ts.ScriptTarget.Latest, true);

const nodesIn = (node) => {
  const nodes = [node];
  for (const next of nodes) ts.forEachChild(next, (child) => void nodes.push(child));
  return nodes;
};

const bodied = (node) => ts.isFunctionLike(node) && node.body !== undefined;
const nameOf = (node) => node?.name?.getText() ?? '';

/** The source of the loop, and what ARCHITECTURE must quote. */
function loop() {
  const [file, owner, name] = LOOP;
  const method = nodesIn(parse(file)).find(
    (node) => bodied(node) && nameOf(node) === name && nameOf(node.parent) === owner,
  );
  const lines = method.getText().split('\n');
  const quoted = lines.map((line, index) => (index === 0 ? line : line.slice(2))).join('\n');
  return { lines: lines.length, quoted };
}

/**
 * The files that a list of CONTRIBUTING says a change touches: those named before an item's first
 * colon, unless a `where` there makes them conditional.
 */
function touched(title) {
  const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith(`${title}\n`));
  const items = section.match(/^\d+\. .*/gm) ?? [];
  const filesOf = (item) =>
    [...item.split(':')[0].matchAll(/`([^`]*\/[^`]*)`/g)].map(([, path]) => path);
  const files = items.flatMap(filesOf);
  const isAlways = (item) => !/ where /.test(item.split(':')[0]);
  // A file that the change adds is in an existing folder.
  const missing = files.filter((path) => !existsSync(join(root, path.replace(/\/[^/]*<.*/, ''))));
  return { files: items.filter(isAlways).flatMap(filesOf).length, missing };
}

const isLiteral = (node) => ts.isObjectLiteralExpression(node) || ts.isArrayLiteralExpression(node);
const isSpread = (node) => ts.isSpreadAssignment(node) || ts.isSpreadElement(node);

/** As the linter counts: without blank lines and comments. */
const linesOf = (node) =>
  node
    .getText()
    .split('\n')
    .filter((line) => !/^\s*($|\/\/|\/?\*)/.test(line)).length;

/** The sizes of the files below a folder. */
function measure(area) {
  const paths = readdirSync(join(root, area), { recursive: true })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join(area, path));
  const files = paths.map((path) => {
    const source = parse(path);
    return { path, lines: source.text.trimEnd().split('\n'), nodes: nodesIn(source) };
  });
  const nodes = files.flatMap((file) => file.nodes);
  const functions = nodes.filter(bodied);
  const sizes = files
    .map(({ path, lines }) => ({ path, size: lines.length }))
    .sort((one, other) => other.size - one.size);
  const isLong = (line) => line.length > 100;
  return {
    files: files.length,
    lines: sizes.reduce((sum, { size }) => sum + size, 0),
    'functions with more than 4 parameters': functions.filter((node) => node.parameters.length > 4)
      .length,
    'functions over 60 lines': functions.filter((node) => linesOf(node) > 60).length,
    'lines over 100 columns': files.flatMap(({ lines }) => lines.filter(isLong)).length,
    'literals spread into literals': nodes.filter(
      (node) => isSpread(node) && isLiteral(node.parent) && isLiteral(node.expression),
    ).length,
    'files over 250 lines': sizes.filter(({ size }) => size > 250).length,
    largest: sizes.slice(0, 5),
  };
}

const line = (...cells) => console.log(cells.map((cell) => String(cell ?? '–')).join(' | '));
const faults = [];
const atMost = (what, counted, max) => {
  line(what, counted, max);
  if (counted > max) faults.push(`${what}: ${counted}, at most ${max}`);
};

buildOrExit();
const path = await measureRedemption();
for (const { file, name } of path) console.log(`${file}: ${name}`);
console.log();
line('what', 'counted', 'at most');
line('---', '---', '---');
const redeem = {
  files: new Set(path.map(({ file }) => file)).size,
  hops: path.length - 1,
  inversions: inversionsIn(path).length,
};
for (const [what, max] of Object.entries(REDEEM_MAX))
  atMost(`redeem, from the controller to the append: ${what}`, redeem[what], max);
const { lines: loopLines, quoted } = loop();
atMost('lines of the write loop', loopLines, LOOP_LINES_MAX);
if (!readFileSync(join(root, 'docs/ARCHITECTURE.md'), 'utf8').includes(quoted))
  faults.push('docs/ARCHITECTURE.md does not quote the write loop as it is');
for (const [title, max] of Object.entries(TOUCHED_MAX)) {
  const { files, missing } = touched(title);
  atMost(`files of "${title}"`, files, max);
  faults.push(...missing.map((file) => `"${title}" names ${file}, which does not exist`));
}
console.log();
const measured = AREAS.map(measure);
line('what', ...AREAS);
line('---', '---', '---', '---');
for (const what of Object.keys(measured[0]).filter((key) => key !== 'largest'))
  line(what, ...measured.map((counts) => counts[what]));
console.log();
line('largest files', 'lines');
line('---', '---');
for (const { path: file, size } of measured.flatMap(({ largest }) => largest)) line(file, size);
for (const fault of faults) console.error(fault);
if (faults.length > 0) exit(1);

#!/usr/bin/env node
// Counts how much a reader opens: the path of a redemption, files a change touches, sizes.
// usage: node scripts/count-structure.mjs [folder of a checkout]
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = argv[2] ?? fileURLToPath(new URL('..', import.meta.url));

/**
 * From the controller to the append: file, function, the names by which it calls its next steps.
 * `f/g` is the function that `f` hands to `g`: an inversion of control. `decides` marks the steps
 * that return before the append.
 */
const REDEEM = [
  ['src/http/rewards/rewards.controller.ts', 'RewardsController.redeemFromAccount', 'write'],
  ['src/http/writing/command-gateway.ts', 'CommandGateway.write', 'answer'],
  ['src/http/writing/writes.ts', 'Writes.answer', 'write'],
  ['src/http/writing/command-gateway.ts', 'CommandGateway.write/answer', 'execute'],
  ['src/command-handling/account-commands.ts', 'AccountCommands.execute', 'handle'],
  ['src/command-handling/handle-command.ts', 'CommandHandling.handle', 'handleInTurn'],
  ['src/command-handling/handle-command.ts', 'CommandHandling.handleInTurn', 'decide append'],
  [
    'src/command-handling/account-commands.ts',
    'AccountCommands.execute/handle',
    'decide',
    'decides',
  ],
  ['src/command-handling/needs/need-resolver.ts', 'NeedResolver.decide', 'decideWith', 'decides'],
  [
    'src/command-handling/account-commands.ts',
    'AccountCommands.execute/decide',
    'decideRequest',
    'decides',
  ],
  ['src/domain/account/requests/account-request.ts', 'decideRequest', 'decide', 'decides'],
  ['src/domain/account/account.decider.ts', 'decide', 'redeemAccountCredit', 'decides'],
  ['src/domain/account/rewards/redemption.ts', 'redeemAccountCredit', undefined, 'decides'],
  ['src/command-handling/handle-command.ts', 'CommandHandling.append', 'append'],
  ['src/event-log/postgres/postgres-event-log.ts', 'PostgresEventLog.append'],
];

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
const calleeOf = ({ expression }) => nameOf(expression) || expression.getText();
const callsIn = (node) => nodesIn(node).filter(ts.isCallExpression);

/** The functions that a step's name refers to. */
function functionsOf(path, name) {
  const [outer, handedTo] = name.split('/');
  const found = nodesIn(parse(path)).filter((node) => {
    const owner = ts.isClassDeclaration(node.parent ?? node) ? `${nameOf(node.parent)}.` : '';
    return bodied(node) && owner + nameOf(node) === outer;
  });
  if (handedTo === undefined) return found;
  return found
    .flatMap(callsIn)
    .filter((call) => calleeOf(call) === handedTo)
    .flatMap((call) => call.arguments.filter(bodied));
}

/** The first error of the listed path; undefined: it is the path of the code. */
function faultIn(path) {
  for (const [file, name, calls] of path) {
    if (!existsSync(join(root, file))) return `${file} does not exist`;
    const functions = functionsOf(file, name);
    if (functions.length === 0) return `${file} has no ${name}`;
    const called = functions.flatMap(callsIn).map(calleeOf);
    for (const step of calls?.split(' ') ?? [])
      if (!called.includes(step)) return `${name} does not call ${step}`;
  }
  return undefined;
}

function countPath(steps) {
  const files = new Set(steps.map(([file]) => file)).size;
  const inversions = steps.filter(([, name]) => name.includes('/')).length;
  return `${files} files, ${steps.length - 1} hops, inversions: ${inversions}`;
}

/**
 * The files that a list of CONTRIBUTING says a change touches: those named before an item's first
 * colon; a `where` there makes them conditional.
 */
function touched(title) {
  const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith(`${title}\n`));
  if (section === undefined) return { files: undefined, missing: [] };
  const items = section.match(/^\d+\. .*/gm) ?? [];
  const filesOf = (item) =>
    [...item.split(':')[0].matchAll(/`([^`]*\/[^`]*)`/g)].map(([, path]) => path);
  const files = items.flatMap(filesOf);
  const more = items.filter((item) => / where /.test(item.split(':')[0])).flatMap(filesOf).length;
  // A file that the change adds is in an existing folder.
  const missing = files.filter((path) => !existsSync(join(root, path.replace(/\/[^/]*<.*/, ''))));
  const always = files.length - more;
  return { files: more > 0 ? `${always} to ${files.length}` : always, missing };
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
const faults = [faultIn(REDEEM)].filter((fault) => fault !== undefined);
const path = faults.length > 0 ? undefined : REDEEM;
const command = touched('Add a command of an account');
const member = touched('Add a member to an answer');
faults.push(...[...command.missing, ...member.missing].map((file) => `there is no ${file}`));

line('what', 'counted', 'aim');
line('---', '---', '---');
line(
  'redeem: on the stack at the append',
  path && countPath(path.filter(([, , , decides]) => !decides)),
  '',
);
line('redeem: with the decision', path && countPath(path), '7 files, 8 hops, inversions: 1');
line('files of a new account command', command.files, 7);
line("files of a new column of a reward's answer", member.files, 3);
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

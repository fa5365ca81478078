import * as z from 'zod';
import { loadConfig } from '../../config/config.js';
import { readOperators, writeOperators } from '../../config/operators-file.js';
import { newOperatorKey, OPERATOR_NAME, OPERATOR_ROLES } from '../../config/operators.js';
import { personNamed } from '../audit.js';
import { notDone } from '../outcome.js';
import { given, help } from '../registry/members.js';
import { machineOperation, type Operation } from '../registry/operation.js';

const name = help(
  z.string().regex(OPERATOR_NAME, 'must be 1 to 64 letters, digits and . _ @ -'),
  'the name, as it appears in records',
);
const role = given(z.array(z.enum(OPERATOR_ROLES)).min(1), {
  help: `a role of the operator: ${OPERATOR_ROLES.join(', ')}`,
});
const file = given(z.string().min(1, 'must not be empty').optional(), {
  placeholder: 'path',
  help: 'the list of operators; default: OPERATORS_FILE, or operators.json in DATA_DIR',
});

export const operations: readonly Operation[] = [
  machineOperation({
    name: 'operator add',
    summary: 'makes a key for an operator and adds the entry to the list of operators',
    members: { name, role, file },
    positions: ['name'],
    examples: ['operator add fay --role finance support'],
    run: async ({ note }, { name: added, role: roles, file: path }) => {
      const { list, entries } = await listIn(path);
      if (entries.some((entry) => personNamed(entry.name) === personNamed(added)))
        throw notDone(`there is an operator ${added} in ${list} already`);
      const { key, entry } = newOperatorKey(added, roles);
      await writeOperators(list, [...entries, entry]);
      note('This key is shown this once. It is valid now.');
      return { name: added, roles: entry.roles, key, file: list };
    },
  }),
  machineOperation({
    name: 'operator list',
    summary: 'the operators, with their roles',
    members: { file },
    examples: ['operator list'],
    run: async (_, { file: path }) => {
      const { entries } = await listIn(path);
      return entries.map(({ name: each, roles }) => ({ name: each, roles }));
    },
    columns: ['name', ['roles', ({ roles }) => roles.join(', ')]],
    empty: 'no operators yet: see operator add',
  }),
  machineOperation({
    name: 'operator remove',
    summary: 'removes an operator, whose key is invalid from then on',
    members: { name, file },
    positions: ['name'],
    examples: ['operator remove fay'],
    run: async (_, { name: removed, file: path }) => {
      const { list, entries } = await listIn(path);
      const left = entries.filter((entry) => personNamed(entry.name) !== personNamed(removed));
      if (left.length === entries.length)
        throw notDone(`there is no operator ${removed} in ${list}`);
      await writeOperators(list, left);
      return { name: removed, file: list };
    },
    said: ({ name: removed, file: list }) => `removed ${removed} from ${list}`,
  }),
  machineOperation({
    name: 'operator key',
    summary: 'makes a key and its entry for OPERATORS_FILE; changes no file',
    members: { name, role },
    positions: ['name'],
    examples: ['operator key fay --role finance'],
    run: ({ note }, { name: made, role: roles }) => {
      note(
        'This key is shown this once. It counts as soon as its entry is in the list in OPERATORS_FILE.',
      );
      return Promise.resolve(newOperatorKey(made, roles));
    },
  }),
];

/** The list of operators and its file. @throws {NotDone} */
async function listIn(path: string | undefined) {
  const list = path ?? loadConfig().operatorsFile?.path;
  if (list === undefined) throw notDone('name the list of operators: OPERATORS_FILE, or --file');
  return { list, entries: await readOperators({ path: list, mayBeMissing: true }) };
}

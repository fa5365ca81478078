import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import ts from 'typescript';
import { fetchRows } from '../../src/postgres/statements.js';
import { useDatabase } from '../support/database.js';

/** The columns that the interfaces name, with whether they may be null: `table.column?`. */
async function namedColumns(): Promise<string[]> {
  const path = join(__dirname, '../../src/postgres/ledger-tables.ts');
  const file = ts.createSourceFile(path, await readFile(path, 'utf8'), ts.ScriptTarget.Latest);
  const members = new Map<string, [name: string, type: string][]>();
  for (const each of file.statements)
    if (ts.isInterfaceDeclaration(each))
      members.set(
        each.name.text,
        each.members.filter(ts.isPropertySignature).map((member) => {
          if (!ts.isIdentifier(member.name) && !ts.isStringLiteral(member.name))
            throw new Error('a column without a plain name');
          return [member.name.text, member.type?.getText(file) ?? ''];
        }),
      );
  return (members.get('LedgerTables') ?? []).flatMap(([table, row]) =>
    (members.get(row) ?? []).map(
      ([column, type]) => `${table}.${column}${isNullable(type) ? '?' : ''}`,
    ),
  );
}

const tableOf = (column: string): string => column.slice(0, column.lastIndexOf('.'));

const isNullable = (type: string): boolean =>
  (type.split(',')[0] ?? '').includes('| null') || type === 'JsonWithDefault<unknown>';

const { pool } = useDatabase(1);

test('the types of tables name the columns that the migrations make', async () => {
  const named = await namedColumns();
  const found = await fetchRows(
    pool,
    sql<{ name: string }>`
      select table_schema || '.' || table_name || '.' || column_name
        || case is_nullable when 'YES' then '?' else '' end as name
      from information_schema.columns
      where table_schema || '.' || table_name = any(${[...new Set(named.map(tableOf))]}::text[])`,
  );
  expect(named.sort()).toEqual(found.map(({ name }) => name).sort());
});

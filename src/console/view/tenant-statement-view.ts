import {
  MOVEMENTS,
  type TenantStatement,
  type TenantStatementLine,
} from '../../operations/ledger/tenant-statement.js';
import { sectionOf, type AskedSection, type PathOf } from './paging.js';
import type { Column } from './sorting.js';
import { TEXTS } from '../texts.js';

const COLUMNS: readonly Column<TenantStatementLine>[] = [
  { label: TEXTS.statement.day, key: 'day', value: 'day' },
  ...MOVEMENTS.map((movement) => ({
    label: `${movement.slice(0, 1).toUpperCase()}${movement.slice(1)}`,
    key: movement,
    isNumber: true,
    value: movement,
  })),
  { label: TEXTS.common.balance, isNumber: true },
];

/** Of each unit the lines of one page: its opening and closing are on each. */
export const statementView = <L>(
  statement: { readonly units: readonly { readonly unit: string; readonly lines: readonly L[] }[] },
  columns: readonly Column<L>[],
  section: AskedSection,
  pathOf: PathOf,
) => ({
  ...statement,
  units: statement.units.map((one) => ({
    ...one,
    ...sectionOf(one.lines, columns, section, pathOf),
    openingName: `opening:${one.unit}`,
    closingName: `closing:${one.unit}`,
  })),
});

export const tenantStatementView = (
  statement: TenantStatement,
  section: AskedSection,
  pathOf: PathOf,
) => statementView(statement, COLUMNS, section, pathOf);

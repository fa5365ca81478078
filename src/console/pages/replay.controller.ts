import type { Difference } from '../../operations/ledger/replay/comparison.js';
import { selectReplayed } from '../../operations/ledger/ledger-replay.js';
import type { Replay } from '../../operations/ledger/replay/replay-run.js';
import { replay } from '../../operations/ledger/ledger-check.operations.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';
import type { Money } from '../../operations/registry/operation.js';
import { csvLines, oneLine } from '../../exports/files/csv-lines.js';
import {
  sendFile,
  FormFor,
  PageFor,
  sendPage,
  redirected,
  TenantCall,
  TenantPage,
} from '../console-call.js';
import { idCell, textCell, type Cell } from '../view/cells.js';
import { nameInWords, partsOfField, shownValue, valueInWords } from '../view/differences.js';
import { faultsOf, type Faults } from '../view/faults.js';
import { column, partOf, tableState, tableView, type TableColumn } from '../view/table.js';
import { amountText, template } from '../view/templates.js';
import { utcField } from '../view/utc-fields.js';
import { accountPath } from './customer-columns.js';
import { filledIn, given, queried, queryOf, TenantPages } from './tenant-pages.js';

const QUERY_FIELDS = ['account', 'asOf', 'position'] as const;
const TABLE = ['sort', 'dir', 'page', 'size'] as const;

const content = template('replay');

/** Of very many differences the first ones are kept. */
interface KeptReplay extends Replay {
  readonly cut?: { readonly differences: number };
}

/** Names of differences that are of no account, or of a forgotten one. */
const NO_ACCOUNTS: ReadonlySet<string> = new Set(['anonymous', 'unknown', 'all']);

/** A value of a row, a number or another one. */
function valueCell(value: unknown, text: string, figure: string): Cell {
  const shown = shownValue(value);
  const [exact, isNegative] = [shown as number, typeof shown === 'number' && shown < 0];
  return { kind: 'amount', value: exact, text, figure, isNegative };
}

const columnsOf = (
  tenantPath: string,
  money: Money | undefined,
): readonly TableColumn<Difference>[] => {
  const cellOf = (side: 'ledger' | 'live') => (difference: Difference) => {
    const { table, key, column } = partsOfField(difference.field);
    const unit = /(?:^|\/)([^/]+)$/.exec(key)?.[1];
    const amount = (value: number): string =>
      amountText(value, table === 'reward_balances' ? unit : null, money);
    const text = valueInWords(column, difference[side], amount);
    return valueCell(
      difference[side],
      column === '' ? nameInWords(text) : text,
      `difference.${side}`,
    );
  };
  return [
    column(['account', 'Account'], ({ account }) =>
      textCell(account, {
        path: NO_ACCOUNTS.has(account) ? null : accountPath(tenantPath, account),
      }),
    ),
    column(['field', 'Field'], ({ readModel, field }) => {
      const { column } = partsOfField(field);
      return textCell(column === '' ? 'Row' : nameInWords(column), {
        note: nameInWords(readModel),
      });
    }),
    column(['ledger', 'Ledger'], cellOf('ledger')),
    column(['live', 'Live'], cellOf('live')),
    column(['row', 'Row', 'minor'], ({ field }) => idCell(partsOfField(field).key || null)),
    column(['events', 'Events', 'unsorted', 'minor'], ({ eventIds }) =>
      textCell(eventIds.join(' ')),
    ),
  ];
};

/** For finance: the log folded anew, compared with the live read models. */
@TenantPage('replay')
export class ConsoleReplayController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('finance')
  async page(@TenantCall() call: TenantCall): Promise<string> {
    const { run, format } = queried(call.query, 'run', 'format');
    const { resultOf } = await this.pages.runOfPage(call, run);
    const result = format === 'csv' ? resultOf<KeptReplay>('ledger replay') : null;
    if (result === null) return this.shown(call);
    const rows = result.differences.map(({ account, readModel, field, ledger, live, eventIds }) =>
      [
        account ?? '',
        readModel,
        field,
        shownValue(ledger),
        shownValue(live),
        eventIds.join(' '),
      ].map((cell) => (typeof cell === 'string' ? oneLine(cell) : cell)),
    );
    const { tenant, mode } = call.scope;
    const file = { name: `replay-${tenant}-${mode}.csv`, type: 'text/csv; charset=utf-8' };
    const head = ['account', 'readModel', 'field', 'ledger', 'live', 'events'];
    return sendFile(call, file, csvLines([head, ...rows], '\r\n'));
  }

  @FormFor('finance')
  async start(@TenantCall() call: TenantCall): Promise<string> {
    const asked = given(call, ...QUERY_FIELDS);
    const replayed = await outcomeOf(() =>
      selectReplayed(this.pages.core, call.ledger, filledIn(asked)),
    );
    if (replayed instanceof NotDone) return this.shown(call, faultsOf(replayed));
    const run = await this.pages.startedRun(call, replay, { ...call.scope, ...filledIn(asked) });
    return redirected(call, `${call.tenantPath}/replay${queryOf({ run, ...asked })}`);
  }

  private async shown(call: TenantCall, faults?: Faults): Promise<string> {
    const asked = given(call, ...QUERY_FIELDS);
    const { run: id, ...state } = queried(call.query, 'run', ...TABLE);
    const { values, refresh, resultOf } = await this.pages.runOfPage(call, id);
    const result = resultOf<KeptReplay>('ledger replay');
    const path = `${call.tenantPath}/replay`;
    const pathWith = (members: Readonly<Record<string, string>>): string =>
      path + queryOf({ run: id, ...asked, ...state, ...members });
    const money = await this.pages.moneyOfAll(call.ledger);
    const columns = columnsOf(call.tenantPath, money);
    const order = tableState(state, columns, { sort: '', descending: false });
    const frame = { of: 'replay', headNote: 'Times are in UTC.', faults, ...refresh };
    return sendPage(call, frame, content, {
      asked,
      asOf: utcField(asked.asOf),
      isOpen: asked.asOf !== '' || asked.position !== '',
      ...values,
      here: pathWith({}),
      replay: result && {
        ...result,
        count: result.cut?.differences ?? result.differences.length,
        isCut: result.cut !== undefined,
        table: tableView(partOf(result.differences, columns, order), columns, order, {
          label: 'Differences',
          empty: { text: 'No difference.' },
          pathWith,
          filePath: pathWith({ format: 'csv', page: '', size: '' }),
        }),
      },
    });
  }
}

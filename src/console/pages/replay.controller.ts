import type { Readable } from 'node:stream';
import type { Difference } from '../../operations/ledger/replay/comparison.js';
import { selectReplayed } from '../../operations/ledger/ledger-replay.js';
import type { Replay } from '../../operations/ledger/replay/replay-run.js';
import { replay } from '../../operations/ledger/ledger-check.operations.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';
import type { Money } from '../../operations/registry/printing.js';
import { redirected, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FilePageFor, FormFor, TenantPage } from '../console-routes.js';
import { amountCell, idCell, textCell, type Cell } from '../view/cells.js';
import { nameInWords, partsOfField, shownValue, valueInWords } from '../view/differences.js';
import { faultsOf, type Faults } from '../view/faults.js';
import { tablesOf } from '../view/page-tables.js';
import { column, type TableColumn } from '../view/table.js';
import { amountText, template } from '../view/templates.js';
import { utcField } from '../view/utc-fields.js';
import { accountPath } from './customer-columns.js';
import { filledIn, given, queryOf, TenantPages } from './tenant-pages.js';

const QUERY_FIELDS = ['account', 'asOf', 'position'] as const;

const content = template('replay');

/** Of very many differences the first ones are kept. */
interface KeptReplay extends Replay {
  readonly cut?: { readonly differences: number };
}

/** Names of differences that are of no account, or of a forgotten one. */
const NO_ACCOUNTS: ReadonlySet<string> = new Set(['anonymous', 'unknown', 'all']);

type Side = 'ledger' | 'live';

/** The value of one side: on the page in words, in the file as it is. */
function sideColumns(side: Side, money: Money | undefined) {
  const cell = ({ field, [side]: value }: Difference): Cell => {
    const { table, key, column } = partsOfField(field);
    const unit = table === 'reward_balances' ? /(?:^|\/)([^/]+)$/.exec(key)?.[1] : null;
    const text = valueInWords(column, value, (amount) => amountText(amount, unit, money));
    const words = column === '' ? nameInWords(text) : text;
    // Other values than numbers are figures as well, which readers of the page compare.
    return amountCell(shownValue(value) as number, words, `difference.${side}`);
  };
  const fileCell = ({ [side]: value }: Difference): Cell => {
    const shown = shownValue(value);
    return typeof shown === 'number' ? amountCell(shown, '') : textCell(shown);
  };
  return [column([side, 'page'], cell), column([side, 'file'], fileCell)];
}

const columnsOf = (
  tenantPath: string,
  money: Money | undefined,
): readonly TableColumn<Difference>[] => [
  column('account', ({ account }) =>
    textCell(account, {
      path: NO_ACCOUNTS.has(account) ? null : accountPath(tenantPath, account),
    }),
  ),
  column(['readModel', 'file'], ({ readModel }) => textCell(readModel)),
  column(['field', 'page'], ({ readModel, field }) => {
    const { column } = partsOfField(field);
    return textCell(column === '' ? 'Row' : nameInWords(column), { note: nameInWords(readModel) });
  }),
  column(['field', 'file'], ({ field }) => textCell(field)),
  ...sideColumns('ledger', money),
  ...sideColumns('live', money),
  column(['row', 'minor', 'page'], ({ field }) => idCell(partsOfField(field).key || null)),
  column(['events', 'unsorted', 'minor'], ({ eventIds }) => textCell(eventIds.join(' '))),
];

/** For finance: the log folded anew, compared with the live read models. */
@TenantPage('replay')
export class ConsoleReplayController {
  constructor(private readonly pages: TenantPages) {}

  @FormFor('finance')
  async start(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const asked = given(call, ...QUERY_FIELDS);
    const replayed = await outcomeOf(() =>
      selectReplayed(this.pages.core, call.ledger, filledIn(asked)),
    );
    if (replayed instanceof NotDone) return this.page(call, faultsOf(replayed));
    const run = await this.pages.startedRun(call, replay, { ...call.scope, ...filledIn(asked) });
    return redirected(call, `${call.tenantPath}/replay${queryOf({ run, ...asked })}`);
  }

  @FilePageFor('finance')
  async page(@TenantCall() call: TenantCall, faults?: Faults): Promise<string | Readable> {
    const { run, ...asked } = given(call, 'run', ...QUERY_FIELDS);
    const { values, refresh, resultOf } = await this.pages.runOfPage(call, run);
    const result = resultOf<KeptReplay>('ledger replay');
    const { tenant, mode } = call.scope;
    const table = tablesOf(call, `${call.tenantPath}/replay`, { run, ...asked })({
      label: 'Differences',
      rows: result?.differences ?? [],
      columns: columnsOf(call.tenantPath, await this.pages.moneyOfAll(call.ledger)),
      empty: { text: 'No difference.' },
      file: result && `replay-${tenant}-${mode}`,
    });
    if (table.file) return table.file;
    const frame = { of: 'replay', headNote: 'Times are in UTC.', faults, ...refresh };
    return sendPage(call, frame, content, {
      asked,
      asOf: utcField(asked.asOf),
      isOpen: asked.asOf !== '' || asked.position !== '',
      ...values,
      here: table.here,
      replay: result && {
        ...result,
        count: result.cut?.differences ?? result.differences.length,
        isCut: result.cut !== undefined,
        table: table.view,
      },
    });
  }
}

import type { Difference } from '../../operations/ledger/replay/comparison.js';
import { selectReplayed } from '../../operations/ledger/ledger-replay.js';
import type { Replay } from '../../operations/ledger/replay/replay-run.js';
import { replay } from '../../operations/ledger/ledger-check.operations.js';
import { FormFor, PageFor, pageSent, redirected, TenantCall, TenantPage } from '../console-call.js';
import { shownValue } from '../view/differences.js';
import { faultsOf, type Faults } from '../view/faults.js';
import { sectionOf, type AskedSection, type PathOf } from '../view/paging.js';
import type { Column } from '../view/sorting.js';
import { template } from '../view/templates.js';
import { filledIn, given, queried, queryOf, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';

const COLUMNS: readonly Column<Difference>[] = [
  { label: TEXTS.fields.account, key: 'account', value: 'account' },
  { label: TEXTS.replay.readModel, key: 'model', value: 'readModel' },
  { label: TEXTS.replay.field, key: 'field', value: 'field' },
  {
    label: TEXTS.common.ledger,
    key: 'ledger',
    isNumber: true,
    value: ({ ledger }) => shownValue(ledger),
  },
  { label: TEXTS.common.live, key: 'live', isNumber: true, value: ({ live }) => shownValue(live) },
  { label: TEXTS.common.events },
];

const ASKED = ['account', 'asOf', 'position'] as const;

const content = template('replay');

/** For finance: the log folded anew, compared with the live read models. */
@TenantPage('replay')
export class ConsoleReplayController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('finance')
  page(@TenantCall() call: TenantCall): Promise<string> {
    return this.shown(call);
  }

  private async shown(call: TenantCall, faults?: Faults): Promise<string> {
    const asked = given(call, ...ASKED);
    const { run: id } = queried(call.query, 'run');
    const section = queried(call.query, 'sort', 'dir', 'page');
    const { values, refresh, resultOf } = await this.pages.runOfPage(call, id);
    const result = resultOf<KeptReplay>('ledger replay');
    const pathOf: PathOf = (other) => queryOf({ run: id, ...asked, ...other });
    return pageSent(call, { of: 'replay', faults, ...refresh }, content, {
      asked,
      ...values,
      accounts: `${call.tenantPath}/accounts`,
      here: `${call.tenantPath}/replay${pathOf({})}`,
      replay: result && shownReplay(result, section, pathOf),
    });
  }

  @FormFor('finance')
  async start(@TenantCall() call: TenantCall): Promise<string> {
    const asked = given(call, ...ASKED);
    const replayed = await outcomeOf(() =>
      selectReplayed(this.pages.core, call.ledger, filledIn(asked)),
    );
    if (replayed instanceof NotDone) return this.shown(call, faultsOf(replayed));
    const run = await this.pages.startedRun(call, replay, { ...call.scope, ...filledIn(asked) });
    return redirected(call, `${call.tenantPath}/replay${queryOf({ run, ...asked })}`);
  }
}

/** Of very many differences the first ones are kept. */
interface KeptReplay extends Replay {
  readonly cut?: { readonly differences: number };
}

function shownReplay(replay: KeptReplay, section: AskedSection, pathOf: PathOf) {
  const { differences } = replay;
  const count = replay.cut?.differences ?? differences.length;
  const { rows, ...others } = sectionOf(differences, COLUMNS, section, pathOf);
  const shown = rows.map(({ ledger, live, ...difference }) => ({
    ...difference,
    ledger: shownValue(ledger),
    live: shownValue(live),
  }));
  return { ...replay, shown, ...others, count, hasMore: count > differences.length };
}

import type { Core } from '../../../stores/core.js';
import type { AccountRef, Scope } from '../../../domain/scope.js';
import { foldLog, ProjectionFold } from '../../../projecting/generations/log-fold.js';
import type { DecodeEvents } from '../../../projecting/projector.js';
import { ACCOUNTS_AT_ONCE } from '../ledger-entries.js';
import { AccountLog } from './account-log.js';
import { eventName, rowName, type Difference, type Finding } from './difference.js';
import { accountProjectors } from '../../../../projections/account-projectors.js';
import { type ReadModelSnapshot } from './live-rows.js';

interface Explained {
  readonly core: Pick<Core, 'log' | 'codec' | 'names'>;
  readonly scope: Scope;
  readonly snapshot: ReadModelSnapshot;
  readonly decode: DecodeEvents;
}

/** The findings with the names of their accounts and the events that wrote their rows. */
export async function* explain(
  findings: readonly Finding[],
  isKnown: (account: AccountRef) => boolean,
  explained: Explained,
): AsyncGenerator<Difference> {
  const byAccount = new Map<AccountRef | undefined, Finding[]>();
  for (const finding of findings) {
    const others = byAccount.get(finding.account);
    if (others) others.push(finding);
    else byAccount.set(finding.account, [finding]);
  }
  const accounts = [...byAccount];
  for (let at = 0; at < accounts.length; at += ACCOUNTS_AT_ONCE) {
    const histories = accounts.slice(at, at + ACCOUNTS_AT_ONCE).map(async ([account, some]) => {
      const isFound = account !== undefined && isKnown(account);
      const history = isFound ? await historyOf(account, some, explained) : undefined;
      return some.map((finding) => differenceOf(finding, history));
    });
    for (const differences of await Promise.all(histories)) yield* differences;
  }
}

const differenceOf = (
  { isOfAccount, readModel, row, column, ledger, live }: Finding,
  history: History | undefined,
): Difference => ({
  account: isOfAccount ? (history?.name ?? 'unknown') : 'all',
  readModel,
  field: column === undefined ? row : `${row}.${column}`,
  ledger,
  live,
  eventIds: [...(history?.eventIds.get(placeOf(readModel, row)) ?? [])],
});

interface History {
  readonly name: string;
  /** By read model and row. */
  readonly eventIds: ReadonlyMap<string, ReadonlySet<string>>;
}

const placeOf = (readModel: string, row: string): string => `${readModel} ${row}`;

/** Folds the account anew and notes the events that write these rows. */
async function historyOf(
  account: AccountRef,
  findings: readonly Finding[],
  { core, scope, snapshot, decode }: Explained,
): Promise<History> {
  const eventIds = new Map(
    findings.map(({ readModel, row }) => [placeOf(readModel, row), new Set<string>()]),
  );
  const readModels = new Set(findings.map(({ readModel }) => readModel));
  const stream = core.names.accountStream(scope, account);
  let now = '';
  let name: string | null = null;
  await foldLog({
    log: new AccountLog(core, scope, stream),
    folds: accountProjectors
      .filter((projector) => readModels.has(projector.name))
      .map(
        (projector) =>
          new ProjectionFold(
            projector,
            snapshot.checkpoints.get(projector.name)?.position,
            (table, key) => eventIds.get(placeOf(projector.name, rowName(table, key)))?.add(now),
          ),
      ),
    // All are decoded: the name of the account is in an event that few of them handle.
    knownTypes: new Set(),
    signal: new AbortController().signal,
    decode: async (recorded) => {
      const decoded = await decode(recorded);
      for (const result of decoded)
        if ('event' in result && result.event.type === 'AccountOpened')
          name = result.event.accountId.value;
      return decoded;
    },
    onEvent: (event) => {
      now = event.eventId;
      if (event.stream !== stream) return;
      for (const readModel of readModels)
        eventIds.get(placeOf(readModel, eventName(event.revision)))?.add(now);
    },
  });
  return { name: name ?? 'anonymous', eventIds };
}

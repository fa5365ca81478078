import type { Command } from 'commander';
import { breakInWords } from '../chain/chain-break.js';
import { asDigestDocument, type DigestDocument } from '../chain/digest-document.js';
import type { Core } from '../stores/core.js';
import type { Scope } from '../domain/scope.js';
import { operatingSystemUser } from '../operations/audit.js';
import type { Done } from '../operations/audited.js';
import { ledgerDigest } from '../operations/ledger/ledger-digest.js';
import { verifyOnRecord, type Verification } from '../operations/ledger/ledger-verification.js';
import { acknowledgeLoss, auditLoss } from '../operations/ledger/loss-acknowledgement.js';
import { NotDone, type Outcome } from '../operations/outcome.js';
import { filled, scopeOf } from './arguments.js';
import { CommandError } from './command-error.js';
import { note, printJson, readJsonFile, withCore, type OutputOptions } from './command-line.js';
import { CopyProgress } from './copy-progress.js';
import {
  auditedRun,
  ledgerGroup,
  withLedgerOptions,
  type LedgerOptions,
} from './ledger-command.js';
import { done } from './outcomes.js';

/** How long an unreachable log is retried; the command can be run again. */
const AWAY_MS_MAX = 60_000;

/** `ledger digest` and `ledger verify`. */
export function addChainCommands(cli: Command): void {
  const ledger = ledgerGroup(cli);
  withLedgerOptions(ledger.command('digest <tenant>'))
    .description("the digest of a tenant's chain, a JSON document to keep elsewhere")
    .option('--sign', 'with the signature of this installation')
    .action(
      async (tenant: string, { mode, by, sign = false }: LedgerOptions & { sign?: boolean }) => {
        const scope = scopeOf(tenant, mode);
        const document = await onChain(
          scope,
          by,
          { operation: 'ledger digest', parameters: { sign } },
          async (core, signal, progress) => {
            const result = await digest(core, { scope, sign, signal }, progress);
            return result instanceof NotDone ? result : { result, parameters: { sign } };
          },
        );
        printJson(document);
      },
    );

  withLedgerOptions(ledger.command('verify <tenant>'))
    .description(
      'recomputes the chain of a tenant and compares it with its seals; exit 3 when it is broken',
    )
    .option('--digest <file>', 'an earlier output of ledger digest')
    .action(
      async (
        tenant: string,
        { mode, by, json, digest: path }: LedgerOptions & { digest?: string },
      ) => {
        const scope = scopeOf(tenant, mode);
        const outside = path === undefined ? undefined : await readDigest(path, scope);
        const verifying = { operation: 'ledger verify', parameters: { digest: outside?.digest } };
        const verified = await onChain(scope, by, verifying, (core, signal, progress) =>
          verifyOnRecord(core, {
            scope,
            outside,
            signal,
            awayMsMax: AWAY_MS_MAX,
            onProgress: progress,
          }),
        );
        reportVerification(verified, { json });
      },
    );

  ledger
    .command('acknowledge-loss')
    .description(
      'after the log lost its end: records who acknowledges it and why; until then ledger verify exits 3',
    )
    .requiredOption('--reason <text>', 'what happened, for later auditors')
    .option('--by <name>', 'who acknowledges it; default: the user of the operating system')
    .option('--json', 'one JSON document')
    .action(acknowledge);
}

async function acknowledge({
  reason,
  by,
  json,
}: LedgerOptions & { reason: string }): Promise<void> {
  const options = {
    reason: filled('--reason', reason),
    by: filled('--by', by ?? operatingSystemUser()),
    warn: note,
  };
  const stopping = new AbortController();
  const patience = { signal: stopping.signal, awayMsMax: AWAY_MS_MAX };
  const acknowledged = await withCore(async (core) =>
    done(
      await acknowledgeLoss(core, { ...options, ...patience }, (loss) =>
        auditLoss(core, loss, options),
      ),
    ),
  );
  if (json) return printJson(acknowledged);
  const { from, to, seals } = acknowledged;
  process.stdout.write(
    `acknowledged: the log lost its events after position ${to ?? 'none'}, up to ${from ?? 'unknown'}\n`,
  );
  note(`${seals.length} seals of lost events are kept with the acknowledgement`);
}

type ChainWork<T> = (
  core: Core,
  signal: AbortSignal,
  progress: CopyProgress['at'],
) => Promise<Outcome<Done<T>>>;

/**
 * Runs work on the chain of an existing tenant, with progress; an interrupt ends it, and an audit
 * event records it.
 */
async function onChain<T>(
  scope: Scope,
  by: string | undefined,
  asked: { readonly operation: string; readonly parameters: object },
  work: ChainWork<T>,
): Promise<T> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  const progress = new CopyProgress(process.stderr);
  process.on('SIGINT', stop).on('SIGTERM', stop);
  try {
    return await auditedRun({ scope, by, ...asked, stop }, (core, noteProgress) =>
      work(core, stopping.signal, (phase, events, total) => {
        progress.at(phase, events, total);
        noteProgress(phase, events, total);
      }),
    );
  } finally {
    progress.end();
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

async function digest(
  core: Core,
  asked: { readonly scope: Scope; readonly sign: boolean; readonly signal: AbortSignal },
  progress: CopyProgress['at'],
): Promise<Outcome<DigestDocument>> {
  const onProgress = (events: number): void => progress('sealing', events, undefined);
  const document = await ledgerDigest(core, { ...asked, onProgress });
  const isSaid = document instanceof NotDone && document.because.code === 'SEAL_NOT_SIGNED_HERE';
  if (asked.signal.aborted && !isSaid)
    throw new CommandError('stopped; run the same command again');
  return document;
}

/** @throws {CommandError} of exit 1: this file cannot be compared. */
export async function readDigest(path: string, { tenant, mode }: Scope): Promise<DigestDocument> {
  const document = asDigestDocument(await readJsonFile(path));
  if (document === undefined)
    throw new CommandError(`${path} is no digest as ledger digest prints it`);
  if (document.tenant !== tenant || document.mode !== mode)
    throw new CommandError(`${path} is the digest of ${document.tenant} in ${document.mode} mode`);
  return document;
}

/** Prints the result of a verification. @throws {CommandError} of exit 3 for a broken chain. */
export function reportVerification(verified: Verification, { json }: OutputOptions): void {
  const { events, position, digest: recomputed, seals, firstBroken } = verified;
  if (json) printJson(verified);
  if (firstBroken !== null) throw new CommandError(breakInWords(firstBroken), 3);
  if (json) return;
  process.stdout.write(
    `OK: ${events} events are as they were sealed, up to position ${position ?? 'none'}\ndigest ${recomputed}\n`,
  );
  note(`${seals} seals compared`);
}

import { loadConfig, publicUrlAt } from '../config/config.js';
import {
  type OperationContext,
  type PaymentWorld,
  scopeIn,
} from '../operations/registry/context.js';
import { type Operation, shownParameters } from '../operations/registry/operation.js';
import type { Staff } from '../operations/audit.js';
import type { Outcome } from '../operations/outcome.js';
import { openOperationsPool } from '../operations/projections/projection-operator.js';
import { CommandError } from './command-error.js';
import { note, withCore } from './command-line.js';
import { asRun, type NoteProgress } from './command-run.js';
import { done } from './outcomes.js';
import { withOwnKeys } from './own-keys.js';
import type { Shown } from './print-document.js';
import { ProgressLine } from './progress-line.js';

interface Caller {
  readonly by: Staff;
  /** Of `--idempotency-key`. */
  readonly key: string | undefined;
  /** People read the answer on a terminal. */
  readonly isForPeople: boolean;
}

/** Connections for work on read models. */
const CONNECTIONS = 10;

/**
 * Runs an operation on the stores of this machine's configuration. The first Ctrl-C stops it
 * cleanly. @returns its document. @throws {CommandError} for a refused operation.
 */
export async function runOperation(
  operation: Operation,
  request: unknown,
  { by, key, isForPeople }: Caller,
): Promise<Shown> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  const progress = new ProgressLine(process.stderr);
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const ends: (() => Promise<void>)[] = [];
  let isRepetition = false;
  const context = {
    by,
    signal: stopping.signal,
    onProgress: progress.at,
    pauseForRequests: () => Promise.resolve(),
    note: (line: string) => {
      progress.end();
      note(line);
    },
    warn: note,
    write: writeOut,
    onReplayed: () => {
      isRepetition = true;
    },
  };
  try {
    if (operation.of === 'machine' || operation.withoutStores?.(request as never))
      // Such an operation takes a `MachineContext`, which its type no longer says.
      return {
        document: done(await operation.run(context as unknown as OperationContext, request)),
      };
    return await withCore(
      async (core) => {
        let pool: ReturnType<typeof openOperationsPool> | undefined;
        const operationsPool = () => {
          if (pool === undefined) {
            const opened = (pool = openOperationsPool(core, CONNECTIONS));
            ends.push(() => opened.end());
          }
          return pool;
        };
        const opened = { ...context, core, operationsPool, payments: paymentWorld(ends) };
        try {
          const document = done(await ran(operation, request, opened, { key, stop }));
          if (isRepetition) context.note('a repetition: nothing changed a second time');
          const scope = isForPeople ? scopeIn(request) : undefined;
          const money = scope && (await operation.money?.(opened, scope, document));
          return { document, money };
        } finally {
          for (const end of ends) await end();
        }
      },
      { acceptsClock: operation.acceptsClock ?? false },
    );
  } finally {
    progress.end();
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

/** As a run that other channels show and stop, where the operation is long. */
function ran(
  operation: Operation,
  request: unknown,
  opened: OperationContext,
  { key, stop }: { readonly key: string | undefined; readonly stop: () => void },
): Promise<Outcome<unknown>> {
  if (operation.isKeyed)
    return withOwnKeys(opened.core, { key, onReplayed: opened.onReplayed }, (keyed) =>
      operation.run({ ...opened, keyed }, request),
    );
  if (!operation.isLong) return operation.run(opened, request);
  const { name } = operation;
  const scope = scopeIn(request) ?? null;
  const parameters = shownParameters(operation, request);
  const run = { operation: name, by: opened.by.name, scope, parameters, stop };
  return asRun(opened.core, run, (noteProgress: NoteProgress) =>
    operation.run(
      {
        ...opened,
        onProgress: (...at) => {
          opened.onProgress(...at);
          noteProgress(...at);
        },
      },
      request,
    ),
  );
}

/** The package of the provider is loaded by the first operation that calls it. */
function paymentWorld(ends: (() => Promise<void>)[]): PaymentWorld {
  const guard = async () => {
    const { EndpointGuard } = await import('../webhooks/sending/endpoint-guard.js');
    return new EndpointGuard({ allowed: loadConfig().webhookAllowCidrs });
  };
  return {
    provider: async () => {
      const { StripeProvider } = await import('../payments/stripe/stripe-provider.js');
      const provider = new StripeProvider(await guard());
      ends.push(() => provider.close());
      return provider;
    },
    guard,
    publicUrl: () => {
      const config = loadConfig();
      return publicUrlAt(config, config.port);
    },
  };
}

/** The reader of standard output may close it early. */
function writeOut(piece: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (): void => reject(new CommandError('standard output was closed'));
    process.stdout.once('error', failed);
    process.stdout.write(piece, (error) => {
      if (error) return failed();
      process.stdout.off('error', failed);
      resolve();
    });
  });
}

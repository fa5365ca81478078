import { execFile } from 'node:child_process';
import { runCommandLine } from '../../src/cli/run-command-line.js';
import type { TestStores } from './running-service.js';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

type Variables = Readonly<Record<string, string>>;
type Stores = Pick<TestStores, 'databaseUrl' | 'masterKeyFile'>;

const environmentOf = ({ databaseUrl, masterKeyFile }: Stores, more: Variables): Variables => ({
  DATABASE_URL: databaseUrl,
  MASTER_KEY_FILE: masterKeyFile,
  ...more,
});

/** Runs a command in this process: faster than in a process of its own. */
export async function runHere(
  stores: Stores,
  words: readonly string[],
  more: Variables = {},
): Promise<Ran> {
  Object.assign(process.env, environmentOf(stores, more));
  // Each command listens for the end of its reader.
  process.stdout.setMaxListeners(0);
  const [out, err] = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation((...of: readonly unknown[]) => {
      const last = of.at(-1);
      if (typeof last === 'function') (last as () => void)();
      return true;
    }),
  );
  const written = (spy: typeof out): string =>
    (spy?.mock.calls ?? []).map(([text]) => String(text)).join('');
  try {
    return { code: await runCommandLine(words), out: written(out), err: written(err) };
  } finally {
    out?.mockRestore();
    err?.mockRestore();
  }
}

export function runShipped(
  stores: TestStores,
  words: readonly string[],
  more: Variables = {},
): Promise<Ran> {
  const env = { ...process.env, ...environmentOf(stores, more) };
  return new Promise((resolve) => {
    execFile(process.execPath, ['dist/bin/cli.js', ...words], { env }, (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
    );
  });
}

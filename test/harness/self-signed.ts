import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A certificate that only clients with `certFile` trust. PEM texts. */
export interface SelfSigned {
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  remove(): Promise<void>;
}

/**
 * Makes a key and a certificate with openssl, good for a day.
 * @param names it is for, as `IP:127.0.0.1` or `DNS:receiver.test`.
 */
export async function selfSignedCertificate(
  names: readonly string[] = ['IP:127.0.0.1'],
): Promise<SelfSigned> {
  const folder = await mkdtemp(join(tmpdir(), 'eventstoredb-double-'));
  const files = { key: join(folder, 'node.key'), cert: join(folder, 'node.crt') };
  await promisify(execFile)('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '1',
    '-subj',
    '/CN=eventstoredb-double',
    '-addext',
    `subjectAltName=${names.join(',')}`,
    '-keyout',
    files.key,
    '-out',
    files.cert,
  ]);
  return {
    cert: await readFile(files.cert, 'utf8'),
    key: await readFile(files.key, 'utf8'),
    certFile: files.cert,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

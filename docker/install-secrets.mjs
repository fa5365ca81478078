// node docker/install-secrets.mjs <uid>:<gid> <folder> <secret file>...
// Copies secrets into a folder, readable for that user alone. A secret of compose is the file of the host, with the host's owner and mode,
// whatever the compose file asks for; the master key must be closed to all but its owner, and its owner must be the service.
import {
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';

const [owner, folder, ...secrets] = process.argv.slice(2);
const [uid, gid] = (owner ?? '').split(':').map(Number);
if (!Number.isInteger(uid) || !Number.isInteger(gid) || !folder || secrets.length === 0) {
  process.stderr.write('usage: install-secrets.mjs <uid>:<gid> <folder> <secret file>...\n');
  process.exit(1);
}
try {
  for (const secret of secrets) install(secret);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}

/** Renamed into place: a reader meanwhile gets the whole old file or the whole new one. */
function install(secret) {
  const content = readFileSync(secret);
  if (content.toString('utf8').trim() === '') throw new Error(`${secret} is empty`);
  const aside = join(folder, `.${basename(secret)}.new`);
  rmSync(aside, { force: true });
  const descriptor = openSync(aside, 'wx', 0o400);
  writeSync(descriptor, content);
  fsyncSync(descriptor);
  closeSync(descriptor);
  chownSync(aside, uid, gid);
  renameSync(aside, join(folder, basename(secret)));
}

// node docker/make-master-key.mjs <file>
// Makes a master key where there is none. One that is there stays as it is: a new one would make everything sealed with it unreadable.
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, writeSync } from 'node:fs';

const [file] = process.argv.slice(2);
if (!file) {
  process.stderr.write('usage: make-master-key.mjs <file>\n');
  process.exit(1);
}
if (!existsSync(file)) {
  // Written aside and linked into place: a crash leaves none rather than half of one.
  const aside = `${file}.${process.pid}`;
  rmSync(aside, { force: true });
  const descriptor = openSync(aside, 'wx', 0o400);
  writeSync(descriptor, `${randomBytes(32).toString('hex')}\n`);
  fsyncSync(descriptor);
  closeSync(descriptor);
  linkSync(aside, file);
  rmSync(aside);
  process.stdout.write(`made ${file}: keep a copy apart from the copies of the data\n`);
}

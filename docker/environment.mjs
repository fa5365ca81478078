import { readFileSync } from 'node:fs';

/** By address of a store: the variable that names a file with its password. A file does not show in `docker inspect`, an address does. */
export const PASSWORD_FILES = {
  DATABASE_URL: 'DATABASE_PASSWORD_FILE',
  EVENT_STORE_URL: 'EVENT_STORE_PASSWORD_FILE',
};

/**
 * The addresses with the passwords in them that the files hold: what the service's configuration reads.
 * @param {Readonly<Record<string, string | undefined>>} environment
 * @returns {Record<string, string>} the addresses that change, complete.
 * @throws {Error} in one line, without any value: a file that cannot be read or is empty, an address without user or with a password.
 */
export function addressesWithPasswords(environment) {
  const complete = {};
  for (const [address, fileVariable] of Object.entries(PASSWORD_FILES)) {
    const file = environment[fileVariable]?.trim();
    if (!file) continue;
    const password = passwordIn(file, fileVariable);
    // By hand: the address of a cluster names several hosts, which no URL parser takes.
    const parts = /^([a-z+]+:\/\/)([^@/?#:]+)(@.+)$/.exec(environment[address]?.trim() ?? '');
    if (!parts)
      throw new Error(`${address} must name a user and no password, since ${fileVariable} is set`);
    complete[address] = `${parts[1]}${parts[2]}:${encodeURIComponent(password)}${parts[3]}`;
  }
  return complete;
}

function passwordIn(file, variable) {
  let password;
  try {
    password = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new Error(
      `${variable} names a file that cannot be read: ${error.code ?? 'unknown error'}`,
      { cause: error },
    );
  }
  if (password === '') throw new Error(`${variable} names an empty file`);
  return password;
}

/** For the entries of the image: completes the environment of this process, or ends it with one line. */
export function completeEnvironment() {
  try {
    Object.assign(process.env, addressesWithPasswords(process.env));
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

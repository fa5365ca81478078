import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hasCode } from '../../foundation/error-code.js';
import { after } from '../../foundation/world.js';

/** The name has no address, or its name servers do not answer. */
export class NameNotResolved extends Error {
  override readonly name = 'NameNotResolved';
  constructor(readonly reason: 'name-not-found' | 'name-server') {
    super(reason);
  }
}

/** All addresses of a name, IPv4 first. @throws {NameNotResolved} */
export type FindAddresses = (name: string) => Promise<readonly string[]>;

export interface NameServers {
  /** For example `127.0.0.1:5353`. Default: those of the machine. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  /** Time limit for all queries of a name. */
  readonly withinMs?: number;
}

/**
 * Resolves names, with the hosts file first. `dns.lookup` would block one of the process's few
 * threads for each name whose server does not answer.
 */
export function findAddressesFrom({
  servers,
  hostsFile = '/etc/hosts',
  withinMs = 5_000,
}: NameServers = {}): FindAddresses {
  return async (name) => {
    const listed = await addressesInFile(hostsFile, name);
    if (listed.length > 0) return listed;
    // One resolver per name: `cancel` ends all of its queries, and servers may have changed.
    const resolver = new Resolver({ timeout: 2_000, tries: 2 });
    if (servers) resolver.setServers(servers);
    const cancel = after(withinMs, () => resolver.cancel(), { keepsProcess: false });
    try {
      return combined(
        await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)] as const),
      );
    } finally {
      cancel();
    }
  };
}

function combined(answers: readonly PromiseSettledResult<string[]>[]): readonly string[] {
  const addresses = answers.flatMap((answer) =>
    answer.status === 'fulfilled' ? answer.value : [],
  );
  if (addresses.length > 0) return addresses;
  const isNowhere = answers.every(
    (answer) =>
      answer.status === 'fulfilled' ||
      hasCode(answer.reason, 'ENOTFOUND', 'ENODATA', 'EBADNAME', 'EINVAL'),
  );
  throw new NameNotResolved(isNowhere ? 'name-not-found' : 'name-server');
}

async function addressesInFile(path: string, name: string): Promise<readonly string[]> {
  const content = await readFile(path, 'utf8').catch(() => '');
  const wanted = name.toLowerCase().replace(/\.$/, '');
  return content.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    return isIP(address) > 0 && names.includes(wanted) ? [address] : [];
  });
}

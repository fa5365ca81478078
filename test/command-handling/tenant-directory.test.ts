import { hashOfKey, TenantDirectory } from '../../src/tenants/tenant-directory.js';
import type { OpenTenant, TenantState } from '../../src/domain/tenant/tenant.decider.js';
import { EventLogUnavailable } from '../../src/event-log/event-log.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
import { aTenant } from '../domain/support/request-scenario.js';
import { SharedLedger } from './support/processes.js';
import { openForEach } from '../support/opened.js';

const open = (openEndpoints: boolean): OpenTenant => ({
  ...aTenant(),
  alias: 'shop',
  openEndpoints,
});

/** A tenant's stream whose readings are answered when the test says so. */
class SlowTenants {
  readonly readings: ((state: TenantState | Error) => void)[] = [];
  load(): Promise<{ state: TenantState }> {
    return new Promise((resolve, reject) =>
      this.readings.push((state) => (state instanceof Error ? reject(state) : resolve({ state }))),
    );
  }
}

it('a change that is announced while the tenant is read counts at the next request', async () => {
  const tenants = new SlowTenants();
  const directory = new TenantDirectory(tenants, new KeyedNames(Buffer.alloc(32)));
  const before = directory.find('shop');
  directory.forget('shop');
  tenants.readings.shift()?.(open(true));
  expect(await before).toMatchObject({ openEndpoints: true });

  const after = directory.find('shop');
  tenants.readings.shift()?.(open(false));
  expect(await after).toMatchObject({ openEndpoints: false });
  // And from memory then.
  expect(await directory.find('shop')).toMatchObject({ openEndpoints: false });
});

describe('wrong credentials', () => {
  let tenants: SlowTenants;
  let directory: TenantDirectory;
  let now = 0;
  beforeEach(() => {
    tenants = new SlowTenants();
    now = 1_000_000;
    directory = new TenantDirectory(tenants, new KeyedNames(Buffer.alloc(32)), () => now);
  });
  const answerAll = (state: TenantState): number => {
    const readings = tenants.readings.splice(0);
    for (const reading of readings) reading(state);
    return readings.length;
  };
  const withKey: TenantState = {
    ...open(true),
    keys: [{ keyId: 'k', mode: 'live', hash: hashOfKey('new'), sealed: '', validUntil: null }],
  };
  const tries = (count: number) =>
    Array.from({ length: count }, () => directory.authenticate('shop', 'new'));

  const answered = async <T>(work: Promise<T>, state: TenantState): Promise<T> => {
    let isDone = false;
    void work.finally(() => (isDone = true));
    while (!isDone) {
      answerAll(state);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return work;
  };

  it('share one read of the tenant', async () => {
    const first = tries(50);
    expect(answerAll(open(true))).toBe(1);
    const found = await answered(Promise.all(first), withKey);
    expect(found).toEqual(Array(50).fill({ mode: 'live', keyId: 'k' }));
  });

  it('include a replaced key once its time is over', async () => {
    const key = { keyId: 'k', mode: 'live', hash: hashOfKey('new'), sealed: '' } as const;
    const replaced = { ...withKey, keys: [{ ...key, validUntil: now + 30 }] };
    const [before] = tries(1);
    answerAll(replaced);
    expect(await before).toEqual({ mode: 'live', keyId: 'k' });
    now += 30;
    const [after] = tries(1);
    expect(await answered(Promise.all([after]), replaced)).toEqual([undefined]);
  });

  it('are read again after an announced change, also one during a read', async () => {
    const before = tries(1);
    directory.forget('shop');
    const after = tries(1);
    expect(tenants.readings).toHaveLength(2);
    tenants.readings[1]?.(withKey);
    expect(await after[0]).toEqual({ mode: 'live', keyId: 'k' });
    // The overtaken one answers its own callers and is not remembered.
    tenants.readings.splice(0)[0]?.(open(true));
    await Promise.resolve();
    expect(await directory.authenticate('shop', 'new')).toEqual({ mode: 'live', keyId: 'k' });
    await answered(Promise.all(before), withKey);

    directory.forget('shop');
    expect(await answered(Promise.all(tries(1)), open(true))).toEqual([undefined]);
    directory.expireAll();
    const distrusting = tries(1);
    await Promise.resolve();
    expect(answerAll(withKey)).toBe(1);
    expect(await distrusting[0]).toEqual({ mode: 'live', keyId: 'k' });
  });
});

describe('while the log is away', () => {
  let tenants: SlowTenants;
  let directory: TenantDirectory;
  let now = 0;
  beforeEach(async () => {
    tenants = new SlowTenants();
    directory = new TenantDirectory(tenants, new KeyedNames(Buffer.alloc(32)), () => now);
    const found = directory.find('shop');
    tenants.readings.shift()?.(open(true));
    await found;
    now += 60_000;
  });

  const answer = async (
    pending: Promise<unknown>,
    reading: TenantState | Error,
  ): Promise<unknown> => {
    tenants.readings.shift()?.(reading);
    return pending;
  };

  it('a known tenant is found, and the log is read again a while later', async () => {
    expect(await answer(directory.find('shop'), new EventLogUnavailable('away'))).toMatchObject({
      openEndpoints: true,
    });
    expect(await directory.find('shop')).toMatchObject({ openEndpoints: true });
    now += 60_000;
    expect(await answer(directory.find('shop'), open(false))).toMatchObject({
      openEndpoints: false,
    });
  });

  it('a tenant is unknown after an announced change, after any other failure, and when it was never read', async () => {
    await expect(answer(directory.find('other'), new EventLogUnavailable('away'))).rejects.toThrow(
      'away',
    );
    await expect(answer(directory.find('shop'), new Error('broken'))).rejects.toThrow('broken');
    const pending = directory.find('shop');
    directory.forget('shop');
    await expect(answer(pending, new EventLogUnavailable('away'))).rejects.toThrow('away');
    await expect(answer(directory.find('shop'), new EventLogUnavailable('away'))).rejects.toThrow(
      'away',
    );
  });
});

const ledger = openForEach(() => SharedLedger.open());

it('a command that changes a tenant counts immediately in its process and is announced to the others; a refused one is not', async () => {
  const one = await ledger.process();
  const announced: string[] = [];
  one.announceTenant = async (alias) => void announced.push(alias);
  expect(await one.tenants.find('demo')).toMatchObject({ openEndpoints: false });
  await one.tenantCommands.execute('demo', {
    type: 'SwitchOpenEndpoints',
    openEndpoints: true,
    now: Date.now(),
  });
  expect(announced).toEqual(['demo']);
  expect(await one.tenants.find('demo')).toMatchObject({ openEndpoints: true });
  expect(
    await one.tenantCommands.create({
      alias: 'demo',
      programType: 'API_ONLY',
      openEndpoints: true,
      program: DEFAULT_PROGRAM,
    }),
  ).toEqual({ refused: 'TENANT_EXISTS' });
  expect(announced).toEqual(['demo']);
});

it('a command that changes a tenant returns the new keys, which are shown only once, although it could not be announced', async () => {
  const one = await ledger.process();
  one.announceTenant = () => Promise.reject(new Error('away'));
  const keys = await one.tenantCommands.rotateKeys('demo', ['live'], 0);
  if ('refused' in keys) throw new Error('the rotation was refused');
  expect(await one.tenants.authenticate('demo', keys.live ?? '')).toMatchObject({ mode: 'live' });
});

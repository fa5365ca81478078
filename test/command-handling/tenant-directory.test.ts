import { TenantDirectory } from '../../src/command-handling/tenant-directory.js';
import { DEFAULT_OPEN_RULES } from '../../src/domain/tenant/open-rules.js';
import type { TenantState } from '../../src/domain/tenant/tenant.decider.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';

const open = (openEndpoints: boolean): TenantState => ({
  ...{ status: 'open', alias: 'shop', createdAt: 1, programType: 'API_ONLY', openEndpoints, openRules: DEFAULT_OPEN_RULES },
  ...{ keys: [], signingSecrets: [], programs: {}, defaultProgramId: 'default' },
});

/** A tenant's stream whose readings are answered when the test says so. */
class SlowTenants {
  readonly readings: ((state: TenantState) => void)[] = [];
  load(): Promise<{ state: TenantState }> {
    return new Promise((resolve) => this.readings.push((state) => resolve({ state })));
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

import * as audit from '../../src/domain/audit/audit.decider.js';
import * as operations from '../../src/domain/operation/operation.decider.js';
import { personal } from '../../src/domain/personal.js';
import * as register from '../../src/domain/tenant/tenant-register.decider.js';

it('each access to personal data is recorded', () => {
  const look = { account: 'acme', person: 'bob', now: 5 };
  const viewed = { type: 'PersonalDataViewed', at: 5, account: 'acme', person: 'bob' } as const;
  expect(audit.decide(look)).toStrictEqual({ events: [viewed] });
});

it('each operation of an operator is recorded', () => {
  const operation = {
    operation: 'ledger statement',
    by: personal('staff', 'fay'),
    parameters: { mode: 'live' },
    resultDigest: 'digest',
  };
  const recorded = { type: 'OperationRecorded', at: 5, ...operation } as const;
  expect(operations.decide({ ...operation, now: 5 })).toStrictEqual({ events: [recorded] });
});

it('an alias is entered once, after the earlier ones', () => {
  const entered = (alias: string) => ({ type: 'TenantAliasEntered', at: 5, alias }) as const;
  const enter = (alias: string) => ({ type: 'EnterAlias', alias, now: 5 }) as const;
  const state = ['one', 'two'].map(entered).reduce(register.evolve, register.initialState);
  expect(state).toStrictEqual({ aliases: ['one', 'two'] });
  expect(register.decide(state, enter('three'))).toStrictEqual({ events: [entered('three')] });
  expect(register.decide(state, enter('two'))).toStrictEqual({ events: [] });
});

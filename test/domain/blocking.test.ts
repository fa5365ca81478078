import { personOf } from '../support/account-events.js';
import { ACME, given, NOW, HERE } from './support/account-scenario.js';

const person = personOf(ACME, 'bob');
const blocked = { type: 'UserBlocked', at: 2_000, person } as const;
const unblocked = { type: 'UserUnblocked', at: 2_100, person } as const;

it('a user is blocked and unblocked', () => {
  given(HERE)
    .when({ type: 'BlockUser', userId: 'bob', now: NOW })
    .then({ ...blocked, at: NOW });
  given(HERE, blocked)
    .when({ type: 'UnblockUser', userId: 'bob', now: NOW })
    .then({ ...unblocked, at: NOW });
  given(HERE, blocked, unblocked)
    .when({ type: 'BlockUser', userId: 'bob', now: NOW })
    .then({ ...blocked, at: NOW });
});

it('a user who is blocked is not blocked again, nor unblocked twice', () => {
  given(HERE, blocked)
    .when({ type: 'BlockUser', userId: 'bob', now: NOW })
    .refused('USER_ALREADY_BLOCKED');
  given(HERE).when({ type: 'UnblockUser', userId: 'bob', now: NOW }).refused('USER_NOT_BLOCKED');
  given(HERE, blocked, unblocked)
    .when({ type: 'UnblockUser', userId: 'bob', now: NOW })
    .refused('USER_NOT_BLOCKED');
});

it('an unknown user is neither blocked nor unblocked', () => {
  given().when({ type: 'BlockUser', userId: 'bob', now: NOW }).refused('USER_NOT_FOUND');
  given(HERE).when({ type: 'UnblockUser', userId: 'cat', now: NOW }).refused('USER_NOT_FOUND');
});

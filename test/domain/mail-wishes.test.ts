import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { emptyProfile } from '../../src/domain/account/users/identify-user.js';
import { personal } from '../../src/domain/personal.js';
import {
  changeMailSettings,
  mailSettingsAfter,
  NO_MAILS,
  type MailSettings,
} from '../../src/domain/tenant/mail-settings.js';
import { accountOpened, personOf } from '../support/account-events.js';
import { ACME, given, NOW, HERE } from './support/account-scenario.js';

const person = personOf(ACME, 'bob');
const bob = emptyProfile('bob');
const unsubscribe = { type: 'UnsubscribeFromMails', person, now: NOW } as const;
const unsubscribed = { type: 'MailsUnsubscribed', at: NOW, person } as const;

it('a person unsubscribes from mails once, and a stranger changes nothing', () => {
  given(HERE).when(unsubscribe).then(unsubscribed);
  given(HERE, unsubscribed).when(unsubscribe).then();
  given().when(unsubscribe).then();
  given(HERE)
    .when({ ...unsubscribe, person: personOf(ACME, 'cat') })
    .then();
});

it('a person who is forgotten unsubscribes from nothing', () => {
  const profile = { ...personal(person, bob), value: null };
  const nameless: AccountEvent = { type: 'UserIdentified', at: 1, person, profile };
  given(accountOpened(ACME), nameless).when(unsubscribe).then();
});

const testTo = { sealed: 's', digest: 'd' };
const after = (settings: MailSettings, now: number, change: object): MailSettings =>
  changeMailSettings(settings, { type: 'ChangeMailSettings', now, ...change }).reduce(
    mailSettingsAfter,
    settings,
  );

it('the settings of mails have the time at which a type was enabled', () => {
  const first = after(NO_MAILS, 5, { types: ['WELCOME', 'WELCOME'] });
  expect(first).toEqual({ types: { WELCOME: 5 }, testTo: null, domains: [] });
  const second = after(first, 9, { types: ['REWARD_EARNED', 'WELCOME'], testTo });
  expect(second).toEqual({ types: { WELCOME: 5, REWARD_EARNED: 9 }, testTo, domains: [] });
  const off = after(second, 11, { types: [] });
  expect(off).toEqual({ types: {}, testTo, domains: [] });
  expect(after(off, 12, { types: ['WELCOME'], testTo: null })).toEqual({
    types: { WELCOME: 12 },
    testTo: null,
    domains: [],
  });
});

it('the settings of mails record only changes', () => {
  const set = after(NO_MAILS, 5, { types: ['WELCOME'], testTo, domains: ['c.d', 'a.b', 'A.B'] });
  expect(set.domains).toEqual(['a.b', 'c.d']);
  const same = { testTo: { sealed: 'other bytes', digest: 'd' }, domains: ['A.b', 'c.d'] };
  expect(changeMailSettings(set, { type: 'ChangeMailSettings', now: 6, ...same })).toEqual([]);
  expect(changeMailSettings(set, { type: 'ChangeMailSettings', now: 6 })).toEqual([]);
  expect(after(set, 7, { domains: [] }).domains).toEqual([]);
});

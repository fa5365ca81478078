import {
  endProposal,
  evolve,
  initialState,
  propose,
  PROPOSALS_A_DAY_MAX,
  type CorrectionProposed,
  type ProposalEnded,
  type ProposeCorrection,
} from '../../src/domain/proposal/proposal.decider.js';
import { personal } from '../../src/domain/personal.js';
import { accountOpened, credit, rewardGranted, userIdentified } from '../support/account-events.js';
import { ACME, BOB, fold, NOW } from './support/account-scenario.js';

const BY = personal('staff', 'fay');
const ACCOUNT = fold([
  accountOpened(ACME),
  userIdentified(ACME, 'bob'),
  rewardGranted('w1', BOB, credit(100)),
]);

const proposal = (over: Partial<ProposeCorrection> = {}): ProposeCorrection => ({
  proposalId: 'p1',
  account: ACME.accountRef,
  accountId: 'acme',
  userId: 'bob',
  unit: 'CENTS',
  amount: 50,
  reason: 'a mistake',
  by: BY,
  now: NOW,
  ledgerNow: NOW,
  ...over,
});

const proposed: CorrectionProposed = {
  type: 'CorrectionProposed',
  at: NOW,
  proposalId: 'p1',
  account: ACME.accountRef,
  person: BOB.person,
  accountId: personal(ACME.accountRef, 'acme'),
  userId: personal(BOB.person, 'bob'),
  unit: 'CENTS',
  amount: 50,
  reason: personal(BOB.person, 'a mistake'),
  by: BY,
};

it('a correction that is possible now is proposed', () => {
  expect(propose(initialState, ACCOUNT, proposal())).toStrictEqual({ events: [proposed] });
  expect(propose(initialState, ACCOUNT, proposal({ amount: -100 }))).toMatchObject({
    events: [{ amount: -100 }],
  });
});

it('a correction that is impossible now is refused with its reason', () => {
  expect(propose(initialState, ACCOUNT, proposal({ amount: -101 }))).toMatchObject({
    refused: expect.any(String),
  });
});

it('is about an account and a user that are there', () => {
  expect(propose(initialState, fold([]), proposal())).toStrictEqual({
    refused: 'ACCOUNT_NOT_FOUND',
  });
  expect(propose(initialState, ACCOUNT, proposal({ userId: 'missing' }))).toStrictEqual({
    refused: 'USER_NOT_FOUND',
  });
});

it(`there are ${PROPOSALS_A_DAY_MAX} a day, in their order`, () => {
  const state = Array.from({ length: PROPOSALS_A_DAY_MAX - 1 }, (_, index) => ({
    ...proposed,
    proposalId: `earlier ${index}`,
  })).reduce(evolve, initialState);
  expect(propose(state, ACCOUNT, proposal())).toStrictEqual({ events: [proposed] });
  const full = evolve(state, proposed);
  expect([...full.proposals.keys()].slice(0, 2)).toEqual(['earlier 0', 'earlier 1']);
  expect(full.proposals.get('p1')).toBe(proposed);
  expect(propose(full, ACCOUNT, proposal({ proposalId: 'p2' }))).toStrictEqual({
    refused: 'TOO_MANY_PROPOSALS',
  });
});

const rejected: ProposalEnded = {
  type: 'CorrectionRejected',
  at: NOW,
  proposalId: 'p1',
  by: BY,
  reason: personal('staff', 'charged once'),
};
const withdrawn: ProposalEnded = { type: 'CorrectionWithdrawn', at: NOW, proposalId: 'p1', by: BY };

it('a proposal ends once, and no other one does', () => {
  const waiting = evolve(initialState, proposed);
  for (const end of [rejected, withdrawn]) {
    expect(endProposal(waiting, end)).toEqual({ events: [end] });
    expect(endProposal(evolve(waiting, rejected), end)).toEqual({ refused: 'PROPOSAL_ENDED' });
    expect(endProposal(initialState, end)).toEqual({ refused: 'PROPOSAL_ENDED' });
  }
  const ended = evolve(evolve(waiting, rejected), withdrawn);
  expect(ended.ended.get('p1')).toEqual(rejected);
  expect(ended.proposals.get('p1')).toEqual(proposed);
});

import { ReferralQueries } from '../../../projections/referrals/queries.js';
import { UserQueries } from '../../../projections/users/queries.js';
import type { ReferralFacts, UserFacts } from '../../domain/account/account.facts.js';
import type { SeenSides } from '../../domain/account/moderation/moderation-of-account.js';
import {
  MODERATION_ACTIONS,
  type ModerationAction,
} from '../../domain/moderation/moderation.decider.js';
import { moderateReferrals } from '../../operations/referrals/moderate-referrals.js';
import { FormFor, PageFor, pageSent, redirected, TenantCall, TenantPage } from '../console-call.js';
import type { Form } from '../sessions/form.js';
import { OwnWrites } from '../../http/writing/own-writes.js';
import { faultAt, faultsOf, type Faults } from '../view/faults.js';
import { inOrder, type AskedOrder, type Column } from '../view/sorting.js';
import { template } from '../view/templates.js';
import { given, queried, queryOf, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { NotDone } from '../../operations/outcome.js';

const PAGE = 50;
const READ_MODELS = ['referrals', 'users'] as const;
/** How long the page waits for the decisions that were taken before it. */
const WAIT_MS = 5_000;

type ShownReferral = ReturnType<typeof shownReferral> & { readonly isChosen: boolean };

const COLUMNS: readonly Column<ShownReferral>[] = [
  { label: TEXTS.moderation.choose },
  { label: TEXTS.common.started, key: 'started', value: 'startedAt' },
  { label: TEXTS.moderation.referred, key: 'referred', value: ({ referred }) => referred.name },
  { label: TEXTS.common.referrer, key: 'referrer', value: ({ referrer }) => referrer.name },
  { label: TEXTS.common.code, key: 'code', value: 'code' },
  { label: TEXTS.common.referredSide, key: 'referredSide', value: 'referredStatus' },
  { label: TEXTS.common.referrerSide, key: 'referrerSide', value: 'referrerStatus' },
  {
    label: TEXTS.moderation.signals,
    key: 'signals',
    value: ({ signals }) => highestScore(signals),
  },
];

const content = template('moderation');

/** For support: referrals that wait for a person's decision. */
@TenantPage('moderation')
export class ConsoleModerationController {
  constructor(
    private readonly pages: TenantPages,
    private readonly referrals: ReferralQueries,
    private readonly users: UserQueries,
    private readonly ownWrites: OwnWrites,
  ) {}

  @PageFor('support')
  page(@TenantCall() call: TenantCall): Promise<string> {
    return this.shown(call);
  }

  @FormFor('support')
  async moderate(@TenantCall() call: TenantCall): Promise<string> {
    const { form } = call;
    const chosen = [...new Set(form.all('referral'))];
    const action = actionOf(form.text('side'), form.text('action'));
    const { waiting } = given(call, 'waiting');
    if (chosen.length === 0 || chosen.length > 100)
      return this.shown(call, faultAt(null, TEXTS.moderation.chooseSome), chosen);
    if (action === undefined)
      return this.shown(call, faultAt(null, TEXTS.moderation.decide), chosen);
    const outcome = await this.pages.recorded(call, 'referral moderate', async (core, meta) => {
      const asked = chosen.map((referralId) => ({
        referralId,
        action,
        seen: seenIn(form, referralId),
      }));
      const result = await moderateReferrals(core, meta, asked);
      const parameters = { action, referrals: chosen.length };
      return { result, parameters, completed: `${chosen.length} referrals are moderated` };
    });
    if (outcome instanceof NotDone) return this.shown(call, faultsOf(outcome), chosen);
    this.ownWrites.note(call.ledger, outcome.position, true);
    const queue = `${call.tenantPath}/moderation${queryOf({ waiting })}`;
    return redirected(call, queue, 'moderated');
  }

  private async shown(
    call: TenantCall,
    faults?: Faults,
    chosen: readonly string[] = [],
  ): Promise<string> {
    await this.ownWrites.visible({
      scope: call.ledger,
      projections: READ_MODELS,
      atLeast: undefined,
      departure: AbortSignal.timeout(WAIT_MS),
    });
    const { offset: typed, ...order } = queried(call.query, 'offset', 'sort', 'dir');
    const offset = /^\d{1,6}$/.test(typed) ? Number(typed) : 0;
    const isReferrer = given(call, 'waiting').waiting === 'referrer';
    const [ofReferred, ofReferrer] = WAITING;
    const [{ totalCount, items }, other] = await Promise.all([
      this.referrals.list(call.ledger, isReferrer ? ofReferrer : ofReferred, {
        limit: PAGE,
        offset,
      }),
      this.referrals.list(call.ledger, isReferrer ? ofReferred : ofReferrer, {
        limit: 0,
        offset: 0,
      }),
    ]);
    const people = await this.users.byPersons(
      call.ledger,
      items.flatMap(({ referredPerson, referrerPerson }) => [referredPerson, referrerPerson]),
    );
    const path = `${call.tenantPath}/moderation`;
    const waiting = isReferrer ? 'referrer' : '';
    const pageAt = (at: number, sorted: AskedOrder): string =>
      `${path}${queryOf({ waiting, offset: at === 0 ? '' : String(at), ...sorted })}`;
    const listed = items.map((one) => ({
      ...shownReferral(one, people, call.tenantPath),
      isChosen: chosen.includes(one.referralId),
    }));
    return pageSent(call, { of: 'moderation', faults }, content, {
      total: totalCount,
      otherTotal: other.totalCount,
      isReferrer,
      otherPath: `${path}${queryOf({ waiting: isReferrer ? '' : 'referrer' })}`,
      ...inOrder(listed, COLUMNS, order, (sorted) => pageAt(offset, sorted)),
      newerPath: offset > 0 ? pageAt(Math.max(0, offset - PAGE), order) : null,
      olderPath: offset + items.length < totalCount ? pageAt(offset + PAGE, order) : null,
    });
  }
}

const WAITING = [{ referredStatus: 'PENDING' }, { referrerStatus: 'PENDING' }] as const;

const highestScore = (signals: readonly { readonly score: number }[]): number | null =>
  signals.length === 0 ? null : Math.max(...signals.map(({ score }) => score));

function shownReferral(
  referral: ReferralFacts,
  people: ReadonlyMap<string, UserFacts>,
  tenant: string,
) {
  const { referredPerson, referrerPerson, dateReferralStarted, fraudSignals } = referral;
  const sideOf = (person: string) => {
    const user = people.get(person);
    if (user === undefined) return { name: TEXTS.moderation.forgotten, path: null };
    const name = [user.firstName, user.lastName].filter(Boolean).join(' ') || user.userId;
    const path = `${tenant}/accounts/${encodeURIComponent(user.accountId)}`;
    return { name: user.email === null ? name : `${name}, ${user.email}`, path };
  };
  return {
    id: referral.referralId,
    startedAt: new Date(dateReferralStarted).toISOString(),
    referred: sideOf(referredPerson),
    referrer: sideOf(referrerPerson),
    code: referral.referralCodeUsed,
    referredStatus: referral.referredStatus,
    referrerStatus: referral.referrerStatus,
    signals: Object.entries(fraudSignals).map(([name, { message, score }]) => ({
      name,
      message,
      score,
    })),
  };
}

function actionOf(side: string, decision: string): ModerationAction | undefined {
  const name = side === '' ? decision : `${side}_${decision}`;
  return MODERATION_ACTIONS.find((action) => action === name);
}

/** The sides that the page showed; undefined: the form was not that of the page. */
function seenIn(form: Form, referralId: string): SeenSides | undefined {
  const [referred, referrer] = form
    .text(`seen:${referralId}`)
    .split('/')
    .map((side) => SIDES.find((status) => status === side));
  return referred && referrer ? { referred, referrer } : undefined;
}

const SIDES = ['PENDING', 'APPROVED', 'DENIED'] as const;

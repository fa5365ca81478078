import {
  MODERATION_ACTIONS,
  type ModerationAction,
} from '../../domain/moderation/moderation.decider.js';
import { Id, NestedList, OneOf } from '../shapes/request-members.js';

const ACTIONS_MAX = 100;

export class ModerationActionRequest {
  @Id({ required: true })
  referralId: string;

  @OneOf(MODERATION_ACTIONS)
  action: ModerationAction;
}

/** POST referrals/moderate: all or nothing. */
export class ModerateReferralsRequest {
  @NestedList(ModerationActionRequest, 'actions', ACTIONS_MAX)
  actions: ModerationActionRequest[];
}

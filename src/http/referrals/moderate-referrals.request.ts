import { ApiProperty } from '@nestjs/swagger';
import { ValidateNested } from 'class-validator';
import {
  MODERATION_ACTIONS,
  type ModerationAction,
} from '../../domain/moderation/moderation.decider.js';
import { Id, Must } from '../shapes/request-members.js';
import { isPlainObject, Member, readShape } from '../shapes/request-shape.js';

const ACTIONS_MAX = 100;

export class ModerationActionRequest {
  @Id({ required: true })
  referralId: string;

  @Member()
  @Must(`be one of ${MODERATION_ACTIONS.join(', ')}`, (value) =>
    MODERATION_ACTIONS.some((action) => action === value),
  )
  @ApiProperty({ enum: MODERATION_ACTIONS })
  action: ModerationAction;
}

const actionOf = (action: unknown): unknown =>
  isPlainObject(action) ? readShape(ModerationActionRequest, action) : action;

/** POST referrals/moderate: all or nothing. */
export class ModerateReferralsRequest {
  // Kept up to one more than the limit, to refuse the number before the rules of each are checked.
  @Member((value) => (Array.isArray(value) ? value.slice(0, ACTIONS_MAX + 1).map(actionOf) : value))
  @Must(
    `be an array of 1 to ${ACTIONS_MAX} actions`,
    (value) => Array.isArray(value) && value.length >= 1 && value.length <= ACTIONS_MAX,
  )
  @Must(
    'hold objects',
    (value) =>
      !Array.isArray(value) || value.every((action) => action instanceof ModerationActionRequest),
  )
  @ValidateNested({ each: true })
  @ApiProperty({ type: [ModerationActionRequest], minItems: 1, maxItems: ACTIONS_MAX })
  actions: ModerationActionRequest[];
}

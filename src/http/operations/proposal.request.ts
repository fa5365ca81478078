import { adjustmentRequest } from './adjustment.request.js';
import { limitRequest, mode } from './operator-request.js';

/** As an adjustment; who approves it comes later. */
export const proposalRequest = adjustmentRequest.omit({ approvedBy: true });

export const proposalsQuery = limitRequest.extend({ mode });

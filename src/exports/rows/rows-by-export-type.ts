import type { ExportType } from '../export-order.js';
import { balanceRows } from './balance-rows.js';
import type { ExportedRows, ExportedTenant } from './exported-rows.js';
import { referralRows } from './referral-rows.js';
import { rewardRows } from './reward-rows.js';
import { userRows } from './user-rows.js';

export function rowsOfType(type: ExportType, tenant: ExportedTenant): ExportedRows {
  switch (type) {
    case 'USER':
      return userRows(tenant);
    case 'REFERRAL':
    case 'USER_REFERRAL':
      return referralRows;
    case 'REWARD_BALANCE':
    case 'USER_REWARD_BALANCE':
      return balanceRows;
    case 'REWARD':
      return rewardRows;
  }
}

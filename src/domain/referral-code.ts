/** Every referral code, given or generated. */
export const REFERRAL_CODE = /^[0-9A-Za-z]{1,15}$/;

import { openId } from '../../../src/entries/auth.ts'

export function byOpenId(issuer: string, audience: string) {
  return { schemes: { corp: openId({ issuer, audience }) }, require: [{ corp: ['read'] }] }
}

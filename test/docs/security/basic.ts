import { basic, hashPassword } from '../../../src/entries/auth.ts'

export async function byPassword(password: string) {
  const ada = { password: await hashPassword(password), scopes: ['reports:read'] }
  return { schemes: { staff: basic({ users: { ada } }) } }
}

import { loaded } from '../protocol/loaded.ts'

export function lists(): Promise<typeof import('./lists.ts')> {
  return loaded('list', import('./lists.ts'))
}

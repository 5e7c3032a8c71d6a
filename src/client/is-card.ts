import type { JsonObject } from '../protocol/model.ts'

/** Whether JSON has what a card of any version has. */
export function isCard({ name, url, supportedInterfaces, agent_id }: JsonObject): boolean {
  return agent_id !== undefined || (name !== undefined && (url !== undefined || supportedInterfaces !== undefined))
}

import type { PeerContract } from './peer/contract.ts'
import { followingContract } from './peer/following.ts'
import { talkingContract } from './peer/talking.ts'
import { understandingContract } from './peer/understanding.ts'

/** What holds for the clients of every SDK, on every binding. */
export function peerContract(contract: PeerContract): void {
  talkingContract(contract)
  followingContract(contract)
  understandingContract(contract)
}

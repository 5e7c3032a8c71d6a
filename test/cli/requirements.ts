/** The requirements of the A2A command line specification, by tier. Each has one test of its name in specification/. */
const tiers = [
  [
    'CARD_GET_001 SEND_001 SEND_002 SEND_003 SEND_004 SEND_005',
    'SEND_006 TASK_GET_001 TASK_CANCEL_001 INTERACT_001 INTERACT_002 INTERACT_003',
    'INTERACT_004 INTERACT_005 TASK_POLL_001 TASK_POLL_002 TASK_POLL_003 TASK_POLL_004',
    'OUT_001 OUT_002 OUT_003 OUT_004 OUT_005 OUT_006',
    'EXIT_001 EXIT_002 AUTH_001 AUTH_002 AUTH_003 AUTH_004',
    'TX_001 TX_002 TX_003 VER_001 DEFAULT_001 CONFIG_001',
    'CLI_001 SKILL_001 SKILL_002',
  ],
  [
    'CARD_GET_002 TASK_LIST_001 TASK_SUBSCRIBE_001 TASK_SUBSCRIBE_002 AUTH_005 AUTH_006',
    'AUTH_007 TX_004 VER_003 CONFIG_002 DOWNLOAD_001 OUT_007',
    'CONFORM_001 CLI_002 PUSH_001',
  ],
  [
    'CARD_GET_003 AUTH_008 CARD_GET_004 CARD_GET_005 PUSH_002 CHAT_001',
    'TX_005 AUTH_009 AUTH_010 AUTH_011 DEMO_SERVER_001 VER_002',
  ],
]

export interface Requirement {
  readonly id: string
  readonly tier: number
}

export const requirements: readonly Requirement[] = tiers.flatMap((lines, index) =>
  lines.flatMap((line) => line.split(' ')).map((id) => ({ id, tier: index + 1 })),
)

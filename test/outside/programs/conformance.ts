import { conformance } from 'parley-a2a/testing'

const report = await conformance(`${process.env.AGENT_URL}`, { texts: { task: 'count 1' }, versions: ['1.0'] })
console.log(report.failed('MUST').length)

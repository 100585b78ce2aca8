/**
 * `shortlink.usage`: what an account uses of what its plan allows, and the plans.
 *
 * @module sdk/usage
 */
export {
  type KeyDay,
  type KeyUsage,
  PLAN_LIMITS,
  PLANS,
  type Plan,
  type PlanLimits,
  type ResourceUsage,
  type TopLink,
  type Usage,
  type UsageResource,
  type WindowUsage,
} from '../../sdk/src/index.ts';

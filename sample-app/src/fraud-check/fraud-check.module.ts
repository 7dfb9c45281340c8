import { Module } from '@nestjs/common';

import { SimulatedFraudCheck } from './simulated-fraud-check.js';

@Module({ providers: [SimulatedFraudCheck], exports: [SimulatedFraudCheck] })
export class FraudCheckModule {}

//! Record batch v2: views, builder, checks and compression.
